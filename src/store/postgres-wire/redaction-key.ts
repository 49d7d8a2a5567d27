import { StoreUnavailableError } from "../../core/errors.ts";

/** There is no file beside the database in which it could be: every process has to be given the same one. */
export function keyIn(given: string | undefined): () => Uint8Array {
  return () => {
    if (given !== undefined && /^[0-9a-f]{64}$/i.test(given)) return Buffer.from(given, "hex");
    throw new StoreUnavailableError(
      "A store on PostgreSQL needs a key for the digests of secrets, the same for every process: pass redactionKey (64 hex digits, from `openssl rand -hex 32`) to openStore, set PAWL_REDACTION_KEY for the command line, or give the runner a policy.redactionKey.",
      { reason: "redaction_key" },
    );
  };
}
