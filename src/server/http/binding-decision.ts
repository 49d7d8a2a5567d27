import { isLoopbackName } from "./allowed-hosts.ts";

/** Where a server wants to listen, and how it is protected. */
export type Binding = {
  readonly host: string;
  /** The address that people use: a proxy's, usually. */
  readonly publicUrl: string | null;
  /** The store has a token that was made on purpose, or the host program authenticates requests itself. */
  readonly hasToken: boolean;
};

export type BindingDecision =
  | { readonly kind: "allowed" }
  | { readonly kind: "refused"; readonly why: string };

/**
 * Decides whether a server may listen. Beyond this machine, everything that is sent without TLS can be read and changed on its
 * way, and browsers drop the protection of cookies. There is no option that allows it anyway.
 */
export function decideBinding({ host, publicUrl, hasToken }: Binding): BindingDecision {
  if (publicUrl !== null && !isAddress(publicUrl))
    return refused(
      `The public URL ${publicUrl} is no address of a server: give one like https://pawl.example.com.`,
    );
  if (isLoopbackName(host)) return { kind: "allowed" };
  if (publicUrl === null || !publicUrl.startsWith("https://"))
    return refused(
      `${host} can be reached from other machines: put a proxy with TLS in front of it, and give its address with --public-url https://…`,
    );
  if (!hasToken)
    return refused(
      `${host} can be reached from other machines, and the store has no token: make one first with \`pawl token create\`.`,
    );
  return { kind: "allowed" };
}

/** An origin: a scheme and a host, without a path. The server answers at the root of its host. */
function isAddress(url: string): boolean {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  return (
    parsed !== null &&
    ["http:", "https:"].includes(parsed.protocol) &&
    parsed.pathname === "/" &&
    parsed.search === ""
  );
}

function refused(why: string): BindingDecision {
  return { kind: "refused", why };
}
