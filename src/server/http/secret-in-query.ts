import { isAccessSecret } from "../../core/access/access-secret.ts";
import { HttpProblem } from "../http-problem.ts";

const NAMES: readonly string[] = ["token", "access_token", "code", "authorization", "api_key", "apikey"];

/** Addresses are in the logs of proxies, in histories and in `Referer`: a secret in one is no secret any more. */
export function assertNoSecretInQuery(request: Request): void {
  for (const [name, value] of new URL(request.url).searchParams) {
    if (!NAMES.includes(name.toLowerCase()) && !isAccessSecret(value)) continue;
    throw new HttpProblem(
      400,
      "secret_in_query",
      "A token or code was sent in the address, where logs keep it: revoke it, and send another one as `Authorization: Bearer …`.",
    );
  }
}
