import type { NetworkPolicy } from "../../core/network-policy.ts";

/**
 * The policy of a connection to one configured address: its host and port, and nothing else. An IP address, and `localhost`, may
 * be private; a name that resolves to a private address is refused, as everywhere, unless it is marked as private.
 */
export function hostNetwork(url: string | URL, isPrivate = false): NetworkPolicy {
  const { hostname, port, protocol } = new URL(url);
  const usual = protocol === "https:" ? "443" : "80";
  const entry = `${hostname}:${port === "" ? usual : port}${isPrivate ? "!private" : ""}`;
  return { allowedDomains: [entry], allowPrivateAddresses: false };
}
