import { ConfigurationError } from "./errors.ts";

/** Where a tool may connect to. No domains at all: every public host. */
export type NetworkPolicy = {
  /**
   * `example.com` is that host and no other, `*.example.com` every host below it (not itself), and with a port,
   * `example.com:8443`, only that port. A host that stands here by its own name may also have a private address:
   * whoever writes `localhost` or `intranet.corp` means it. A wildcard says nothing of the kind.
   */
  readonly allowedDomains: readonly string[];
  readonly allowPrivateAddresses: boolean;
};

export type NetworkVerdict = { readonly ok: true } | { readonly ok: false; readonly why: string };

const OK: NetworkVerdict = { ok: true };

/**
 * Whether a URL may be requested, as far as its text can tell. What a name resolves to is seen only when the
 * connection is made: `checkAddress` is asked then. No reason repeats more of the URL than its host, since the rest may
 * carry a secret.
 *
 * @example
 * checkUrl({ allowedDomains: ["*.example.com"], allowPrivateAddresses: false }, "https://api.example.com/v1"); // ok
 */
export function checkUrl(policy: NetworkPolicy, url: string | URL): NetworkVerdict {
  // The URL parser, and no pattern of our own: it reads 0x7f.1, ①②⑦.0.0.1 and a\@b as the request will.
  const parsed = URL.parse(String(url));
  if (parsed === null) return refused("The URL cannot be read: give an absolute http or https URL.");
  if (parsed.protocol !== "http:" && parsed.protocol !== "https:") {
    return refused(`The URL has the scheme ${parsed.protocol} and only http: and https: are allowed.`);
  }
  const target = targetOf(parsed);
  if (parsed.username !== "" || parsed.password !== "") {
    return refused(
      `The URL of ${target.host} carries a user name or password: send them in a header instead.`,
    );
  }
  if (policy.allowedDomains.length > 0 && !policy.allowedDomains.some((entry) => allows(entry, target))) {
    return refused(`The host ${parsed.host} is not in allowedDomains: add it there if it may be reached.`);
  }
  if (!isPrivateName(target.host) || mayBePrivate(policy, target)) return OK;
  return refused(`The host ${target.host} is private or reserved: ${remedy(target)}`);
}

/**
 * Whether an address that `host` resolved to may be connected to. `host` comes with its port (`localhost:8080`), since
 * an entry of `allowedDomains` with a port speaks for that port only.
 */
export function checkAddress(policy: NetworkPolicy, host: string, address: string): NetworkVerdict {
  const target = parseTarget(host);
  if (target === null) return refused(`The host ${host} cannot be read: give a name or an address.`);
  // The zone of fe80::1%eth0 says on which link the address is meant, not what kind it is.
  if (bitsOf(address.replace(/%.*$/s, "")) === null) {
    return refused(`The host ${target.host} resolves to ${address}, which is no IP address: check its name.`);
  }
  if (isPublicAddress(address)) return OK;
  // Whoever owns a name decides what it resolves to, so it does not vouch for the place where clouds keep their keys.
  const isVouchedFor =
    mayBePrivate(policy, target) && (policy.allowPrivateAddresses || !isMetadata(target, address));
  if (isVouchedFor) return OK;
  return refused(
    `The host ${target.host} resolves to ${address}, which is private or reserved: ${remedy(target)}`,
  );
}

/** Throws for an entry that could never match: `https://example.com` would otherwise forbid everything in silence. */
export function assertAllowedDomains(entries: unknown, what: string): asserts entries is readonly string[] {
  if (!Array.isArray(entries))
    throw new ConfigurationError(`${what} is no list: give an array of host names.`);
  for (const entry of entries as readonly unknown[]) {
    if (typeof entry === "string" && parseEntry(entry) !== null) continue;
    throw new ConfigurationError(
      `${what} contains ${JSON.stringify(entry)}, which is no host: write "example.com", "*.example.com" or "example.com:8443".`,
    );
  }
}

function refused(why: string): NetworkVerdict {
  return { ok: false, why };
}

function remedy({ host }: Target): string {
  return `add ${host} itself to allowedDomains if it is meant, or set allowPrivateAddresses.`;
}

/** A host in its one spelling: lower case, punycode, no final dot, an IPv6 address in brackets. */
type Target = { readonly host: string; readonly port: string | null };

function targetOf(url: URL): Target {
  return {
    host: withoutFinalDot(url.hostname),
    port: url.port !== "" ? url.port : url.protocol === "https:" ? "443" : "80",
  };
}

/** `host`, `host:port`, `[::1]:port` or a bare IPv6 address; null for anything else, a URL for instance. */
function parseTarget(text: string): Target | null {
  if (!text.startsWith("[") && bitsOf(text)?.length === 128) return parseTarget(`[${text}]`);
  const [, host, port] = /^(\[[0-9a-f:.]+\]|[^\s:/?#@\\%*[\]]+)(?::(\d{1,5}))?$/i.exec(text) ?? [];
  const url = host === undefined ? null : URL.parse(`http://${host}`);
  if (url === null || Number(port ?? 0) > 65_535) return null;
  return { host: withoutFinalDot(url.hostname), port: port === undefined ? null : String(Number(port)) };
}

function withoutFinalDot(hostname: string): string {
  return hostname.endsWith(".") ? hostname.slice(0, -1) : hostname;
}

type Entry = Target & { readonly wildcard: boolean };

function parseEntry(text: string): Entry | null {
  const wildcard = text.startsWith("*.");
  const target = parseTarget(wildcard ? text.slice(2) : text);
  if (target === null || (wildcard && bitsOf(target.host) !== null)) return null;
  return { ...target, wildcard };
}

function allows(text: string, { host, port }: Target): boolean {
  const entry = parseEntry(text);
  if (entry === null || (entry.port !== null && entry.port !== port)) return false;
  return entry.wildcard ? host.endsWith(`.${entry.host}`) : host === entry.host;
}

function mayBePrivate(policy: NetworkPolicy, target: Target): boolean {
  if (policy.allowPrivateAddresses) return true;
  return policy.allowedDomains.some((entry) => !entry.startsWith("*") && allows(entry, target));
}

/** Names that are never public (RFC 6761, RFC 6762, RFC 8375, and ICANN for `internal`), whatever they resolve to. */
const PRIVATE_NAMES = ["localhost", "local", "internal", "home.arpa"];

function isPrivateName(host: string): boolean {
  if (bitsOf(host) !== null) return !isPublicAddress(host);
  return PRIVATE_NAMES.some((name) => host === name || host.endsWith(`.${name}`));
}

/** From IANA's special-purpose registry: nobody out there can be reached at these. */
const SPECIAL_IPV4 = [
  "0.0.0.0/8", // this network; Linux takes 0.0.0.0 for the machine itself
  "10.0.0.0/8", // private
  "100.64.0.0/10", // carrier-grade NAT; also Alibaba's metadata
  "127.0.0.0/8", // loopback
  "168.63.129.16/32", // not in the registry: the host agent of Azure, answered inside its machines only
  "169.254.0.0/16", // link-local; the metadata of most clouds
  "172.16.0.0/12", // private
  "192.0.0.0/24", // protocol assignments; also Oracle's metadata
  "192.0.2.0/24", // documentation
  "192.88.99.0/24", // 6to4 relays, given up
  "192.168.0.0/16", // private
  "198.18.0.0/15", // benchmarks
  "198.51.100.0/24", // documentation
  "203.0.113.0/24", // documentation
  "224.0.0.0/4", // multicast
  "240.0.0.0/4", // reserved, and broadcast
].map(prefixBits);

/** Only this block is handed out to hosts, so ::1, fc00::/7, fe80::/10, ff00::/8 and ::a.b.c.d need no line of their own. */
const GLOBAL_IPV6 = prefixBits("2000::/3");

const SPECIAL_IPV6 = [
  "2001::/23", // protocol assignments; Teredo, which carries an IPv4 address
  "2001:db8::/32", // documentation
  "2002::/16", // 6to4, which carries an IPv4 address
  "3fff::/20", // documentation
].map(prefixBits);

/** The last 32 bits are the IPv4 address that is really reached: ::ffff:a.b.c.d, and NAT64 as DNS64 makes it. */
const CARRIES_IPV4 = ["::ffff:0:0/96", "64:ff9b::/96"].map(prefixBits);

/** True of an address that hosts on the internet have; false of all others, and of what is no address. */
export function isPublicAddress(address: string): boolean {
  const bits = bitsOf(address);
  if (bits === null) return false;
  if (bits.length === 32) return !SPECIAL_IPV4.some((prefix) => bits.startsWith(prefix));
  if (CARRIES_IPV4.some((prefix) => bits.startsWith(prefix))) {
    return !SPECIAL_IPV4.some((prefix) => bits.slice(96).startsWith(prefix));
  }
  return bits.startsWith(GLOBAL_IPV6) && !SPECIAL_IPV6.some((prefix) => bits.startsWith(prefix));
}

/** Link-local, and what clouds use like it. */
const METADATA = ["169.254.0.0/16", "168.63.129.16/32", "192.0.0.0/24", "fe80::/10"].map(prefixBits);

/** An address of those, reached by a name and not by itself. */
function isMetadata({ host }: Target, address: string): boolean {
  if (bitsOf(host) !== null) return false;
  const bits = bitsOf(address.replace(/%.*$/s, "")) ?? "";
  const reached = CARRIES_IPV4.some((prefix) => bits.startsWith(prefix)) ? bits.slice(96) : bits;
  return METADATA.some((prefix) => reached.startsWith(prefix));
}

function prefixBits(range: string): string {
  const [address = "", length] = range.split("/");
  return (bitsOf(address) ?? "").slice(0, Number(length));
}

/**
 * An address, in the brackets of a URL or without, as a text of 32 or 128 zeros and ones, so that a range is a prefix
 * of it; null for what is no address.
 */
function bitsOf(address: string): string | null {
  const bytes = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(address)?.slice(1);
  if (bytes !== undefined) {
    // 010 is eight to some and ten to others: no address.
    if (bytes.some((byte) => Number(byte) > 255 || String(Number(byte)) !== byte)) return null;
    return bytes.map((byte) => binary(Number(byte), 8)).join("");
  }
  const bare = address.replace(/^\[(.*)\]$/, "$1");
  const url = /^[0-9a-f:.]*:[0-9a-f:.]*$/i.test(bare) ? URL.parse(`http://[${bare}]`) : null;
  return url === null ? null : ipv6Bits(url.hostname.slice(1, -1));
}

/** From the form that URL gives: hexadecimal groups, one `::` at most. */
function ipv6Bits(address: string): string {
  const [head = "", tail = ""] = address.split("::").map(groupBits);
  return head + "0".repeat(128 - head.length - tail.length) + tail;
}

function groupBits(groups: string): string {
  if (groups === "") return "";
  return groups
    .split(":")
    .map((group) => binary(Number.parseInt(group, 16), 16))
    .join("");
}

function binary(value: number, width: number): string {
  return value.toString(2).padStart(width, "0");
}
