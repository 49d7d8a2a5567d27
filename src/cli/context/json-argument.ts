import type { Json } from "../../core/json.ts";
import { WrongUseError } from "./wrong-use-error.ts";

/** Parses a JSON value from the command line. */
export function parseJsonArgument(flag: string, text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw new WrongUseError(
      `The value of ${flag} is not valid JSON: write objects as '{"id":7}' and strings as '"sent"', in single quotes.`,
    );
  }
}
