import { isJsonObject, type Json } from "../../core/json.ts";
import { isSameSecret, signatureOf } from "./secrets.ts";

/** What the cookie of a session says: which access it was made with, and when it ends. */
export type SessionClaim = { readonly accessId: string; readonly expiresAt: number };

/** A session lasts this long after the last request. */
export const SESSION_MS = 12 * 3_600_000;
/** A cookie is made again once it is so old: each request has a session of at least 11 hours before it. */
const RENEWED_AFTER_MS = 3_600_000;

/**
 * The cookies of one store's sessions. Cookies are shared by all ports of a host, so the name has the store in it: another
 * server on this machine neither reads nor replaces it.
 */
export class SessionCookies {
  readonly #key: Uint8Array;
  readonly #isSecure: boolean;
  readonly name: string;

  constructor({
    key,
    storeId,
    isSecure,
  }: { readonly key: Uint8Array; readonly storeId: string; readonly isSecure: boolean }) {
    this.#key = key;
    this.#isSecure = isSecure;
    this.name = `pawl_${storeId.slice(0, 12)}`;
  }

  /** The header that starts or renews a session. */
  set({ accessId, expiresAt }: SessionClaim, now: number): string {
    const text = Buffer.from(JSON.stringify({ accessId, expiresAt })).toString("base64url");
    const value = `${text}.${signatureOf(this.#key, text).toString("base64url")}`;
    return this.#header(value, Math.max(0, Math.floor((expiresAt - now) / 1_000)));
  }

  /** The header that ends a session in the browser. */
  clear(): string {
    return this.#header("", 0);
  }

  /** The claim of a request's cookie; null if there is none that this store has signed, or it is over. */
  read(request: Request, now: number): SessionClaim | null {
    for (const value of cookiesNamed(this.name, request)) {
      const claim = this.#verified(value);
      if (claim !== null && claim.expiresAt > now) return claim;
    }
    return null;
  }

  /** True if the browser should get the cookie again, with a later end. */
  isDue({ expiresAt }: SessionClaim, now: number): boolean {
    return expiresAt - now < SESSION_MS - RENEWED_AFTER_MS;
  }

  #verified(value: string): SessionClaim | null {
    const [text = "", signature = "", ...more] = value.split(".");
    const given = Buffer.from(signature, "base64url");
    if (more.length > 0 || !isSameSecret(given, signatureOf(this.#key, text))) return null;
    const claim = JSON.parse(Buffer.from(text, "base64url").toString("utf8")) as Json;
    if (!isJsonObject(claim) || typeof claim.accessId !== "string" || typeof claim.expiresAt !== "number")
      return null;
    return { accessId: claim.accessId, expiresAt: claim.expiresAt };
  }

  #header(value: string, maxAge: number): string {
    const secure = this.#isSecure ? "; Secure" : "";
    return `${this.name}=${value}; Max-Age=${maxAge}; Path=/; HttpOnly; SameSite=Strict${secure}`;
  }
}

/** A browser may send several of one name, and another program on the machine may have set one of them. */
function cookiesNamed(name: string, request: Request): readonly string[] {
  const pairs = (request.headers.get("cookie") ?? "").split(";").map((pair) => pair.trim());
  return pairs.filter((pair) => pair.startsWith(`${name}=`)).map((pair) => pair.slice(name.length + 1));
}
