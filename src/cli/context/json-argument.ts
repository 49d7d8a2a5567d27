import type { Json } from "../../core/json.ts";
import { WrongUseError } from "./wrong-use-error.ts";

/** A value that was given as JSON on the command line. */
export function parseJsonArgument(flag: string, text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw new WrongUseError(
      `What ${flag} was given is not JSON: write objects as '{"id":7}' and texts as '"sent"', in single quotes.`,
    );
  }
}
