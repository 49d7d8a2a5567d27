import { ConfigurationError } from "./errors.ts";
import { memoized } from "./memoized.ts";

/** The hosts that a tool may connect to. An empty list of domains allows every public host. */
export type NetworkPolicy = {
  /**
   * `example.com` is that host only, `*.example.com` every host below it (not itself); both at ports 80 and 443.
   * `example.com:8443` is that port, `example.com:*` every port. A name may resolve to a private address only if it is marked,
   * `intranet.corp!private`, since its owner decides what it resolves to; an address, `10.0.0.5`, and a name that cannot be
   * registered, `localhost`, need no mark.
   */
  readonly allowedDomains: readonly string[];
  /** Cloud metadata addresses, which hand out a machine's credentials, stay forbidden. */
  readonly allowPrivateAddresses: boolean;
};

export type NetworkCheck = { readonly ok: true } | { readonly ok: false; readonly why: string };

const OK: NetworkCheck = { ok: true };

/**
 * Checks a URL before it is requested, as far as its text goes. What a name resolves to is known only when the connection is
 * made: `checkAddress` checks it then. Reasons quote no more of the URL than its host, since the rest may carry a secret.
 *
 * @example
 * checkUrl({ allowedDomains: ["*.example.com"], allowPrivateAddresses: false }, "https://api.example.com/v1"); // ok
 */
export function checkUrl(policy: NetworkPolicy, url: string | URL): NetworkCheck {
  // The URL parser instead of a pattern of our own: it reads 0x7f.1, ①②⑦.0.0.1 and a\@b just as the request will.
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
  if (isMetadata(target.host)) return refused(`The host ${target.host} ${METADATA_REASON}`);
  if (policy.allowedDomains.length > 0 && entriesFor(policy, target).length === 0) {
    return refused(notAllowed(policy, target, parsed.host));
  }
  if (!isPrivateName(target.host) || mayBePrivate(policy, target)) return OK;
  return refused(`The host ${target.host} is private or reserved: ${remedy(target)}`);
}

/**
 * Checks an address that `host` resolved to, before the connection is made. `host` includes the port (`localhost:8080`),
 * since an entry of `allowedDomains` with a port allows that port only.
 */
export function checkAddress(policy: NetworkPolicy, host: string, address: string): NetworkCheck {
  const target = parseTarget(host);
  if (target === null) return refused(`The host ${host} cannot be read: give a name or an address.`);
  if (bitsOf(address) === null) {
    return refused(`The host ${target.host} resolves to ${address}, which is no IP address: check its name.`);
  }
  if (isMetadata(address)) {
    return refused(`The host ${target.host} resolves to ${address}, which ${METADATA_REASON}`);
  }
  if (isPublicAddress(address) || mayBePrivate(policy, target)) return OK;
  return refused(
    `The host ${target.host} resolves to ${address}, which is private or reserved: ${remedy(target)}`,
  );
}

/** Throws for an entry that could never match: `https://example.com` would otherwise silently forbid everything. */
export function assertAllowedDomains(entries: unknown, what: string): asserts entries is readonly string[] {
  if (!Array.isArray(entries))
    throw new ConfigurationError(`${what} is not a list: give an array of host names.`);
  for (const entry of entries as readonly unknown[]) {
    if (typeof entry === "string" && parseEntry(entry) !== null) continue;
    throw new ConfigurationError(
      `${what} contains ${JSON.stringify(entry)}, which is no host: write ${ENTRIES}.`,
    );
  }
}

function refused(why: string): NetworkCheck {
  return { ok: false, why };
}

const METADATA_REASON = "serves the credentials of a cloud machine: no tool may connect there.";

function remedy({ host, port }: Target): string {
  const written = `${host}${isUsualPort(port) ? "" : `:${port}`}${isPrivateName(host) ? "" : MARK}`;
  return `add ${written} to allowedDomains if this is intended, or set allowPrivateAddresses.`;
}

function notAllowed({ allowedDomains }: NetworkPolicy, { host, port }: Target, shown: string): string {
  const isOtherPort = allowedDomains.some((text) => {
    const entry = parseEntry(text);
    return entry !== null && hasHost(entry, host);
  });
  if (!isOtherPort) return `The host ${shown} is not in allowedDomains: add it there if it may be reached.`;
  return `The host ${host}:${port} is not in allowedDomains, which has other ports of this host: add ${host}:${port} there if it may be reached.`;
}

/** A host in its normal form: lower case, punycode, no final dot, an IPv6 address in brackets. */
type Target = { readonly host: string; readonly port: string | null };

function targetOf(url: URL): Target {
  return {
    host: withoutFinalDot(url.hostname),
    port: url.port !== "" ? url.port : url.protocol === "https:" ? "443" : "80",
  };
}

/** `host`, `host:port`, `[::1]:port` or a bare IPv6 address; null for anything else, such as a URL. */
function parseTarget(text: string): Target | null {
  if (!text.startsWith("[") && bitsOf(text)?.length === 128) return parseTarget(`[${text}]`);
  const [, host, port] = /^(\[[0-9a-f:.]+\]|[^\s:/?#@\\%*![\]]+)(?::(\d{1,5}))?$/i.exec(text) ?? [];
  const url = host === undefined ? null : URL.parse(`http://${host}`);
  if (url === null || Number(port ?? 0) > 65_535) return null;
  return { host: withoutFinalDot(url.hostname), port: port === undefined ? null : String(Number(port)) };
}

function withoutFinalDot(hostname: string): string {
  return hostname.endsWith(".") ? hostname.slice(0, -1) : hostname;
}

/** The forms of an entry, for error messages. */
export const ENTRIES =
  '"example.com", "*.example.com", "example.com:8443" or, where its address is private, "example.com!private"';

const MARK = "!private";
const ANY_PORT = "*";

type Entry = Target & { readonly wildcard: boolean; readonly mayBePrivate: boolean };

const parseEntry = memoized((text): Entry | null => {
  const isMarked = text.endsWith(MARK);
  const unmarked = isMarked ? text.slice(0, -MARK.length) : text;
  const isAnyPort = unmarked.endsWith(":*");
  const wildcard = unmarked.startsWith("*.");
  const target = parseTarget(unmarked.slice(wildcard ? 2 : 0, isAnyPort ? -2 : undefined));
  if (target === null || (isAnyPort && target.port !== null)) return null;
  if (wildcard && bitsOf(target.host) !== null) return null;
  return {
    host: target.host,
    port: isAnyPort ? ANY_PORT : target.port,
    wildcard,
    mayBePrivate: isMarked || (!wildcard && isPrivateName(target.host)),
  };
});

function isUsualPort(port: string | null): boolean {
  return port === null || port === "80" || port === "443";
}

function hasPort(entry: Entry, port: string | null): boolean {
  if (entry.port === ANY_PORT) return true;
  return entry.port === null ? isUsualPort(port) : entry.port === port;
}

function hasHost(entry: Entry, host: string): boolean {
  return entry.wildcard ? host.endsWith(`.${entry.host}`) : host === entry.host;
}

function entriesFor({ allowedDomains }: NetworkPolicy, { host, port }: Target): readonly Entry[] {
  return allowedDomains
    .map(parseEntry)
    .filter((entry) => entry !== null)
    .filter((entry) => hasHost(entry, host) && hasPort(entry, port));
}

function mayBePrivate(policy: NetworkPolicy, target: Target): boolean {
  return policy.allowPrivateAddresses || entriesFor(policy, target).some((entry) => entry.mayBePrivate);
}

/** True if an entry covers private names or addresses. An entry that cannot be parsed counts as one that does. */
export function opensPrivate(text: string): boolean {
  const entry = parseEntry(text);
  return entry === null || entry.mayBePrivate || isPrivateName(entry.host);
}

/** True if one of the others allows everything that the entry allows, private addresses included. */
export function isWithinDomains(text: string, others: readonly string[]): boolean {
  const entry = parseEntry(text);
  return entry !== null && others.some((other) => isWithin(entry, parseEntry(other)));
}

function isWithin(entry: Entry, other: Entry | null): boolean {
  if (other === null || (entry.mayBePrivate && !other.mayBePrivate)) return false;
  const hasItsHosts = hasHost(other, entry.host) && (other.wildcard || !entry.wildcard);
  const isSameWildcard = entry.wildcard && other.wildcard && entry.host === other.host;
  return (hasItsHosts || isSameWildcard) && hasPort(other, entry.port);
}

/** Names that are never public (RFC 6761, RFC 6762, RFC 8375, and ICANN for `internal`), whatever they resolve to. */
const PRIVATE_NAMES = ["localhost", "local", "internal", "home.arpa"];

function isPrivateName(host: string): boolean {
  if (bitsOf(host) !== null) return !isPublicAddress(host);
  return PRIVATE_NAMES.some((name) => host === name || host.endsWith(`.${name}`));
}

/** From IANA's special-purpose registry: no host on the internet has these addresses. */
const SPECIAL_IPV4 = [
  "0.0.0.0/8", // this network; on Linux 0.0.0.0 is the machine itself
  "10.0.0.0/8", // private
  "100.64.0.0/10", // carrier-grade NAT; also Alibaba's metadata
  "127.0.0.0/8", // loopback
  "168.63.129.16/32", // not in the registry: Azure's host agent, reachable only from its machines
  "169.254.0.0/16", // link-local; the metadata of most clouds
  "172.16.0.0/12", // private
  "192.0.0.0/24", // protocol assignments; also Oracle's metadata
  "192.0.2.0/24", // documentation
  "192.88.99.0/24", // 6to4 relays, deprecated
  "192.168.0.0/16", // private
  "198.18.0.0/15", // benchmarks
  "198.51.100.0/24", // documentation
  "203.0.113.0/24", // documentation
  "224.0.0.0/4", // multicast
  "240.0.0.0/4", // reserved, and broadcast
].map(prefixBits);

/** Only this block is assigned to hosts, so ::1, fc00::/7, fe80::/10, ff00::/8 and ::a.b.c.d need no line of their own. */
const GLOBAL_IPV6 = prefixBits("2000::/3");

const SPECIAL_IPV6 = [
  "2001::/23", // protocol assignments; Teredo, which carries an IPv4 address
  "2001:db8::/32", // documentation
  "2002::/16", // 6to4, which carries an IPv4 address
  "3fff::/20", // documentation
].map(prefixBits);

/** IPv6 prefixes whose addresses a gateway translates to an embedded IPv4 address, and the bits where that begins. */
const CARRIERS = [
  { prefix: "::ffff:0:0/96", at: [96] }, // mapped
  { prefix: "64:ff9b::/96", at: [96] }, // NAT64, as DNS64 makes it
  { prefix: "64:ff9b:1::/48", at: [48, 56, 64, 96] }, // local NAT64, with a prefix of any length (RFC 6052)
  { prefix: "::/96", at: [96] }, // compatible, deprecated
  { prefix: "::ffff:0:0:0/96", at: [96] }, // translated
  { prefix: "2002::/16", at: [16] }, // 6to4
  { prefix: "2001::/32", at: [32] }, // Teredo: its server; the client is at the end, inverted
].map(({ prefix, at }) => ({ prefix: prefixBits(prefix), at }));

/** A connection to one of the first two goes to the embedded IPv4 address. */
const [MAPPED, NAT64] = CARRIERS;

/** True for the address of a host on the internet; false for all others, and for anything that is no address. */
export function isPublicAddress(address: string): boolean {
  const bits = bitsOf(address);
  if (bits === null) return false;
  if (bits.length === 32) return !SPECIAL_IPV4.some((prefix) => bits.startsWith(prefix));
  if ([MAPPED, NAT64].some((carrier) => carrier !== undefined && bits.startsWith(carrier.prefix))) {
    return !SPECIAL_IPV4.some((prefix) => bits.slice(96).startsWith(prefix));
  }
  return isGlobal(bits);
}

function isGlobal(bits: string): boolean {
  return bits.startsWith(GLOBAL_IPV6) && !SPECIAL_IPV6.some((prefix) => bits.startsWith(prefix));
}

/** Addresses of cloud metadata services: they hand out the credentials of the machine or of its workload. */
const METADATA = [
  "169.254.0.0/16", // link-local: AWS, Google, Azure, Oracle, IBM, DigitalOcean, Hetzner, Tencent, Scaleway, OpenStack
  "168.63.129.16/32", // Azure's host agent
  "192.0.0.192/32", // Oracle
  "100.100.100.200/32", // Alibaba
  "fd00:ec2::/32", // AWS
  "fd20:ce::/32", // Google
  "fd00:42::42/128", // Scaleway
].map(prefixBits);

/** The names of these services. Checked as well, for tools whose connections Pawl does not see. */
const METADATA_NAMES: ReadonlySet<string> = new Set([
  "metadata.google.internal",
  "metadata.goog",
  "metadata",
  "instance-data",
  "instance-data.ec2.internal",
  "metadata.tencentyun.com",
  "api.metadata.cloud.ibm.com",
]);

const USUAL_METADATA = prefixBits("169.254.169.254/32");

function isMetadata(host: string): boolean {
  const bits = bitsOf(host);
  if (bits === null) return METADATA_NAMES.has(host);
  if (METADATA.some((prefix) => bits.startsWith(prefix))) return true;
  if (bits.length === 32) return false;
  const hasUsual = !isGlobal(bits) && groupsOf(bits).some((at) => bits.startsWith(USUAL_METADATA, at));
  return hasUsual || carriedBy(bits).some((each) => METADATA.some((prefix) => each.startsWith(prefix)));
}

/** The IPv4 addresses that may be embedded in an IPv6 address. Clouds also put theirs at the end of their own networks. */
function carriedBy(bits: string): readonly string[] {
  const last = bits.slice(96);
  const gateways = CARRIERS.filter(({ prefix }) => bits.startsWith(prefix));
  const isTeredo = bits.startsWith(TEREDO);
  return [
    ...gateways.flatMap(({ at }) => at.map((from) => embedded(bits, from))),
    ...(isTeredo ? [inverted(last)] : []),
    ...(!isGlobal(bits) || ISATAP.test(bits.slice(64, 96)) ? [last] : []),
  ];
}

const TEREDO = prefixBits("2001::/32");
/** The second half of an ISATAP address, up to the IPv4 address: `::5efe:a.b.c.d`, `::200:5efe:a.b.c.d`. */
const ISATAP = /^000000[01]0{9}0101111011111110$/;

/** An IPv4 address that crosses bits 64 to 71 skips them (RFC 6052). */
function embedded(bits: string, from: number): string {
  if (from === 96 || from === 16 || from === 32) return bits.slice(from, from + 32);
  return (bits.slice(from, 64) + bits.slice(72)).slice(0, 32);
}

function inverted(bits: string): string {
  return bits.replaceAll(/[01]/g, (bit) => (bit === "0" ? "1" : "0"));
}

/** The start of each group of an IPv6 address but the last. */
function groupsOf(bits: string): readonly number[] {
  return Array.from({ length: bits.length / 16 - 1 }, (_, i) => i * 16);
}

function prefixBits(range: string): string {
  const [address = "", length] = range.split("/");
  return (bitsOf(address) ?? "").slice(0, Number(length));
}

/**
 * An address, with or without the brackets of a URL, as a text of 32 or 128 zeros and ones, so that a range is a prefix
 * of it; null for anything that is no address.
 */
function bitsOf(given: string): string | null {
  // The zone of fe80::1%eth0 names a link; it does not change the kind of address.
  const address = given.replace(/%.*$/s, "");
  const bytes = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(address)?.slice(1);
  if (bytes !== undefined) {
    // Some read 010 as eight and some as ten: no address.
    if (bytes.some((byte) => Number(byte) > 255 || String(Number(byte)) !== byte)) return null;
    return bytes.map((byte) => binary(Number(byte), 8)).join("");
  }
  const bare = address.replace(/^\[(.*)\]$/, "$1");
  const url = /^[0-9a-f:.]*:[0-9a-f:.]*$/i.test(bare) ? URL.parse(`http://[${bare}]`) : null;
  return url === null ? null : ipv6Bits(url.hostname.slice(1, -1));
}

/** From the form that URL returns: hexadecimal groups, at most one `::`. */
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
