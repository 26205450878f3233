// Files that a visitor attaches: their type is read from their content, and their size is bounded. The gateway checks them again.

/** A message is one event of at most 512 KiB, in which files are base64. */
const BYTES_MAX = 360 * 1024;

/** Nothing can be attached. */
export const NOTHING = { types: [], bytesMax: 0, filesMax: 0 };

/** What the agent accepts, of the types that the page names; undefined: all. */
export function acceptedOf(agent, named) {
  if (!agent) return NOTHING;
  const { media_types: types, file_bytes_max: bytesMax, files_max: filesMax } = agent;
  return { types: named ? types.filter((type) => named.includes(type)) : types, bytesMax, filesMax };
}

const SIGNATURES = [
  ['image/png', [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
  ['image/jpeg', [0xff, 0xd8, 0xff]],
  ['image/gif', [0x47, 0x49, 0x46, 0x38]],
  ['application/pdf', [0x25, 0x50, 0x44, 0x46, 0x2d]],
];

/** The media type of a content; undefined if it is none that can be attached. */
export function typeOf(bytes) {
  const begins = (signature, at = 0) => signature.every((byte, index) => bytes[at + index] === byte);
  const known = SIGNATURES.find(([, signature]) => begins(signature));
  if (known) return known[0];
  if (begins([0x52, 0x49, 0x46, 0x46]) && begins([0x57, 0x45, 0x42, 0x50], 8)) return 'image/webp';
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return /[\0-\x08\x0e-\x1f]/.test(text) ? undefined : 'text/plain';
  } catch {
    return undefined;
  }
}

const kB = (bytes) => Math.floor(bytes / 1024);

/** The parts of files that are accepted with those attached before, and the first refusal: its code and the bound. */
export async function attach(files, attached, { types, bytesMax, filesMax }) {
  const parts = [...attached];
  let refused;
  let size = parts.reduce((sum, { url }) => sum + (url.length * 3) / 4, 0);
  for (const file of files) {
    if (parts.length >= filesMax) refused ??= { code: 'TOO_MANY_FILES', bound: filesMax };
    else if (file.size > bytesMax) refused ??= { code: 'FILE_TOO_LARGE', bound: kB(bytesMax) };
    else if (size + file.size > BYTES_MAX) refused ??= { code: 'FILES_TOO_LARGE', bound: kB(BYTES_MAX) };
    else {
      const bytes = new Uint8Array(await file.arrayBuffer());
      const mediaType = typeOf(bytes);
      if (!types.includes(mediaType)) refused ??= { code: 'FILE_TYPE_REFUSED' };
      else {
        parts.push({ type: 'file', mediaType, filename: file.name.replace(/[\0-\x1f\x7f]/g, '').slice(0, 80), url: `data:${mediaType};base64,${base64(bytes)}` });
        size += file.size;
      }
    }
  }
  return { parts, refused };
}

function base64(bytes) {
  let text = '';
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}
