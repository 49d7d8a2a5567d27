import { checkUrl, type NetworkPolicy } from "../../src/core/network-policy.ts";

export const domains = (...allowedDomains: string[]): NetworkPolicy => ({
  allowedDomains,
  allowPrivateAddresses: false,
});
export const PUBLIC = domains();
export const PRIVATE_TOO: NetworkPolicy = { allowedDomains: [], allowPrivateAddresses: true };

/** Why a URL is refused, or null. */
export const why = (policy: NetworkPolicy, url: string | URL): string | null => {
  const checked = checkUrl(policy, url);
  return checked.ok ? null : checked.why;
};
