import { PawlError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";

/** The command line is invalid: a flag, an argument, or a combination of them. Nothing was done. */
export class WrongUseError extends PawlError {
  readonly code = "wrong_use";
  constructor(message: string, details: JsonObject = {}) {
    super(message, details);
  }
}
