export { HansardSession, type HansardSessionOptions } from './session.js';
