import { ConfigurationError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import type { RunRules } from "../definition/run-rules.ts";
import { RunSecrets } from "../definition/run-secrets.ts";

/** Refuses input that holds a secret: it is stored as it is, since a resumed run needs it. */
export function assertNoSecrets(
  input: Json,
  { secretKeys }: RunRules,
  what: "input" | "RunSpec" | "context" | "message" = "input",
): void {
  if (secretKeys.size === 0 || !new RunSecrets(secretKeys, () => "").holdsSecret(input)) return;
  throw new ConfigurationError(
    `The ${what} of the run holds a value under one of policy.secretKeys, and it is stored: leave it out, and give tools their secrets where they are made, or from code with secret(…).`,
  );
}
