import { PawlError } from "./errors.ts";

/** A request or redirect that the policy does not allow. It was not sent; the request that led to the redirect was. */
export class NetworkRefusedError extends PawlError<{ url: string; why: string }> {
  readonly code = "network_refused";
}

export const REQUEST = "Refused to request";

/** Without the query and the credentials of the URL: they may be secrets, and errors are stored. */
export function refusal(url: URL | null, why: string, doing = REQUEST): NetworkRefusedError {
  const shown = url?.host ? `${url.protocol}//${url.host}${url.pathname}` : (url?.protocol ?? "");
  return new NetworkRefusedError(`${doing} ${shown === "" ? "a URL" : shown}: ${why}`, { url: shown, why });
}
