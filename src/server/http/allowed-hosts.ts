import { HttpProblem } from "../http-problem.ts";

/**
 * The hosts that requests may name. A page elsewhere can give its own name the address of this server (DNS rebinding):
 * its requests are then of the same origin for the browser, and the name is all that gives them away.
 */
export type AllowedHosts = {
  /** `localhost:4747`: a host, with its port unless that is the usual one of the scheme. */
  readonly exact: readonly string[];
  /** The names of this machine, with any port: for a handler that does not know on which one it is reached. */
  readonly isAnyLoopback: boolean;
};

const LOOPBACK = /^(?:127\.0\.0\.1|localhost|\[::1\])$/;

/** Of a server that listens on a port of this machine, and may be behind a proxy. */
export function hostsOfServer(port: number, publicUrl: string | null): AllowedHosts {
  const own = ["127.0.0.1", "localhost", "[::1]"].map((name) => hostOf(`http://${name}:${port}`));
  return { exact: [...own, ...publicHost(publicUrl)], isAnyLoopback: false };
}

/** Of a handler that another program serves. */
export function hostsOfHandler(publicUrl: string | null): AllowedHosts {
  return { exact: publicHost(publicUrl), isAnyLoopback: true };
}

export function isLoopbackName(name: string): boolean {
  return LOOPBACK.test(name) || name === "::1";
}

/** On every request, also those that read: a rebound name must not get a byte. */
export function assertHost(request: Request, { exact, isAnyLoopback }: AllowedHosts): void {
  const given = request.headers.get("host") ?? new URL(request.url).host;
  const host = given.toLowerCase();
  if (exact.includes(host) || (isAnyLoopback && isLoopbackName(host.replace(/:\d+$/, "")))) return;
  throw new HttpProblem(
    421,
    "unknown_host",
    `This server is not known as ${JSON.stringify(given.slice(0, 200))}: use the address that it printed, or start it with --public-url.`,
  );
}

function publicHost(publicUrl: string | null): readonly string[] {
  return publicUrl === null ? [] : [hostOf(publicUrl)];
}

function hostOf(url: string): string {
  return new URL(url).host.toLowerCase();
}
