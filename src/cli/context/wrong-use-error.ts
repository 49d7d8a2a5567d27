import { PawlError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";

/** The command line itself is wrong: a flag, an argument, or two that do not go together. Nothing was done. */
export class WrongUseError extends PawlError {
  readonly code = "wrong_use";
  constructor(message: string, details: JsonObject = {}) {
    super(message, details);
  }
}
