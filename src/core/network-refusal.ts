import { PawlError } from "./errors.ts";

/** A request, or a redirect, that the policy does not allow. That request was not sent; what redirected to it was. */
export class NetworkRefusedError extends PawlError<{ url: string; why: string }> {
  readonly code = "network_refused";
}

export const REQUEST = "Refused to request";

/** Without the query and the credentials of the URL: they may be secrets, and errors are stored. */
export function refusal(url: URL | null, why: string, doing = REQUEST): NetworkRefusedError {
  const shown = url?.host ? `${url.protocol}//${url.host}${url.pathname}` : (url?.protocol ?? "");
  return new NetworkRefusedError(`${doing} ${shown === "" ? "a URL" : shown}: ${why}`, { url: shown, why });
}
