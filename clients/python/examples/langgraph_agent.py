"""An agent of LangGraph whose thread is a conversation in Hansard. Run it twice: it continues."""

import os
import sys

from langchain.messages import AnyMessage  # type: ignore
