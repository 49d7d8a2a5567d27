import { ConfigurationError } from "./errors.ts";
import { memoized } from "./memoized.ts";

/** Where a tool may connect to. No domains at all: every public host. */
export type NetworkPolicy = {
  /**
   * `example.com` is that host and no other, `*.example.com` every host below it (not itself); both at the ports 80 and 443.
   * `example.com:8443` is that port, `example.com:*` every one. A name may have a private address where it says so,
   * `intranet.corp!private`, since its owner decides what it resolves to; an address, `10.0.0.5`, and a name that nobody can own,
   * `localhost`, need no mark.
   */
  readonly allowedDomains: readonly string[];
  /** Never the addresses where clouds keep the keys of a machine. */
  readonly allowPrivateAddresses: boolean;
};

export type NetworkCheck = { readonly ok: true } | { readonly ok: false; readonly why: string };

const OK: NetworkCheck = { ok: true };

/**
 * Whether a URL may be requested, as far as its text can tell. What a name resolves to is seen only when the
 * connection is made: `checkAddress` is asked then. No reason repeats more of the URL than its host, since the rest may
 * carry a secret.
 *
 * @example
 * checkUrl({ allowedDomains: ["*.example.com"], allowPrivateAddresses: false }, "https://api.example.com/v1"); // ok
 */
export function checkUrl(policy: NetworkPolicy, url: string | URL): NetworkCheck {
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
  if (isMetadata(target.host)) return refused(`The host ${target.host} ${OF_CLOUDS}`);
  if (policy.allowedDomains.length > 0 && entriesFor(policy, target).length === 0) {
    return refused(notAllowed(policy, target, parsed.host));
  }
  if (!isPrivateName(target.host) || mayBePrivate(policy, target)) return OK;
  return refused(`The host ${target.host} is private or reserved: ${remedy(target)}`);
}

/**
 * Whether an address that `host` resolved to may be connected to. `host` comes with its port (`localhost:8080`), since
 * an entry of `allowedDomains` with a port speaks for that port only.
 */
export function checkAddress(policy: NetworkPolicy, host: string, address: string): NetworkCheck {
  const target = parseTarget(host);
  if (target === null) return refused(`The host ${host} cannot be read: give a name or an address.`);
  if (bitsOf(address) === null) {
    return refused(`The host ${target.host} resolves to ${address}, which is no IP address: check its name.`);
  }
  if (isMetadata(address)) {
    return refused(`The host ${target.host} resolves to ${address}, which ${OF_CLOUDS}`);
  }
  if (isPublicAddress(address) || mayBePrivate(policy, target)) return OK;
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
      `${what} contains ${JSON.stringify(entry)}, which is no host: write ${ENTRIES}.`,
    );
  }
}

function refused(why: string): NetworkCheck {
  return { ok: false, why };
}

const OF_CLOUDS = "is where clouds keep the keys of a machine: no tool may connect there.";

function remedy({ host, port }: Target): string {
  const written = `${host}${isUsualPort(port) ? "" : `:${port}`}${isPrivateName(host) ? "" : MARK}`;
  return `add ${written} to allowedDomains if it is meant, or set allowPrivateAddresses.`;
}

function notAllowed({ allowedDomains }: NetworkPolicy, { host, port }: Target, shown: string): string {
  const isOtherPort = allowedDomains.some((text) => {
    const entry = parseEntry(text);
    return entry !== null && hasHost(entry, host);
  });
  if (!isOtherPort) return `The host ${shown} is not in allowedDomains: add it there if it may be reached.`;
  return `The host ${host}:${port} is not in allowedDomains, which have other ports of it: add ${host}:${port} there if it may be reached.`;
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
  const [, host, port] = /^(\[[0-9a-f:.]+\]|[^\s:/?#@\\%*![\]]+)(?::(\d{1,5}))?$/i.exec(text) ?? [];
  const url = host === undefined ? null : URL.parse(`http://${host}`);
  if (url === null || Number(port ?? 0) > 65_535) return null;
  return { host: withoutFinalDot(url.hostname), port: port === undefined ? null : String(Number(port)) };
}

function withoutFinalDot(hostname: string): string {
  return hostname.endsWith(".") ? hostname.slice(0, -1) : hostname;
}

/** As they can be written, for people. */
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

/** Whether an entry is about private names or addresses; so is one that nobody can read. */
export function opensPrivate(text: string): boolean {
  const entry = parseEntry(text);
  return entry === null || entry.mayBePrivate || isPrivateName(entry.host);
}

/** Whether one of the others allows all that an entry does, private addresses included. */
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

/** IPv6 addresses with an IPv4 address in them, which some gateway makes of them: behind which prefix, and where. */
const CARRIERS = [
  { prefix: "::ffff:0:0/96", at: [96] }, // mapped
  { prefix: "64:ff9b::/96", at: [96] }, // NAT64, as DNS64 makes it
  { prefix: "64:ff9b:1::/48", at: [48, 56, 64, 96] }, // NAT64 of one's own, with a prefix of any length (RFC 6052)
  { prefix: "::/96", at: [96] }, // compatible, given up
  { prefix: "::ffff:0:0:0/96", at: [96] }, // translated
  { prefix: "2002::/16", at: [16] }, // 6to4
  { prefix: "2001::/32", at: [32] }, // Teredo, its server; its client stands at the end, inverted
].map(({ prefix, at }) => ({ prefix: prefixBits(prefix), at }));

/** The first two are that IPv4 address to whoever connects. */
const [MAPPED, NAT64] = CARRIERS;

/** True of an address that hosts on the internet have; false of all others, and of what is no address. */
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

/** What clouds answer at with the credentials of the machine, or of what runs on it. */
const METADATA = [
  "169.254.0.0/16", // link-local: AWS, Google, Azure, Oracle, IBM, DigitalOcean, Hetzner, Tencent, Scaleway, OpenStack
  "168.63.129.16/32", // the host agent of Azure
  "192.0.0.192/32", // Oracle
  "100.100.100.200/32", // Alibaba
  "fd00:ec2::/32", // AWS
  "fd20:ce::/32", // Google
  "fd00:42::42/128", // Scaleway
].map(prefixBits);

/** By these they are known to their machines, and to tools whose connections nobody sees. */
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

/** The IPv4 addresses that an IPv6 address may stand for. Clouds also like to end one of their own network in theirs. */
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
/** The second half of an address that a network without IPv6 gives out: `::5efe:a.b.c.d`, `::200:5efe:a.b.c.d`. */
const ISATAP = /^000000[01]0{9}0101111011111110$/;

/** Bits 64 to 71 are left out of what stands across them (RFC 6052). */
function embedded(bits: string, from: number): string {
  if (from === 96 || from === 16 || from === 32) return bits.slice(from, from + 32);
  return (bits.slice(from, 64) + bits.slice(72)).slice(0, 32);
}

function inverted(bits: string): string {
  return bits.replaceAll(/[01]/g, (bit) => (bit === "0" ? "1" : "0"));
}

/** Where the groups of an IPv6 address begin that have another behind them. */
function groupsOf(bits: string): readonly number[] {
  return Array.from({ length: bits.length / 16 - 1 }, (_, i) => i * 16);
}

function prefixBits(range: string): string {
  const [address = "", length] = range.split("/");
  return (bitsOf(address) ?? "").slice(0, Number(length));
}

/**
 * An address, in the brackets of a URL or without, as a text of 32 or 128 zeros and ones, so that a range is a prefix
 * of it; null for what is no address.
 */
function bitsOf(given: string): string | null {
  // The zone of fe80::1%eth0 says on which link the address is meant, not what kind it is.
  const address = given.replace(/%.*$/s, "");
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
