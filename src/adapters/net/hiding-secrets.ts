import { type Secret, secret } from "../../core/secret/secret.ts";

/** Shorter words, and shorter values that are not marked as secret, may well be part of something else. */
export const LEAST_LENGTH = 8;

/** `apiKey`, `--access-token`, `DB_PASSWORD`, `Authorization`, `--pat`, `X-Pin`. */
export const SECRET_NAME = /key|token|secret|pass|auth|credential|cookie|(?:^|[-_])(?:pat|pwd|pin|otp)$/i;

/** A part of an address that looks like a token: a shorter one, or one without a digit, is a name. */
const TOKEN = /^(?=.*\d).{16,}$/s;

/**
 * All texts to hide for these secrets: each secret itself, however short; the credential after a scheme, as in `Bearer …`, with
 * the user and password that `Basic …` encodes; and its longer words.
 */
export function secretTexts(texts: readonly string[]): readonly string[] {
  const all = texts.flatMap((text) => [text, ...credentialIn(text), ...longWords(text)]);
  return [...new Set(all)].filter((text) => text.trim() !== "");
}

function longWords(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => word.length >= LEAST_LENGTH);
}

function credentialIn(header: string): readonly string[] {
  const [, credential] = /^[A-Za-z][\w-]*\s+(\S+)$/.exec(header) ?? [];
  return credential === undefined ? [] : [credential, ...loginIn(header)];
}

/** The texts to hide, as the `secrets` of a tool. */
export function settingSecrets(texts: readonly string[]): readonly Secret[] {
  return secretTexts(texts).map(secret);
}

function loginIn(header: string): readonly string[] {
  const [, encoded] = /^basic\s+([\w+/=-]+)$/i.exec(header) ?? [];
  if (encoded === undefined) return [];
  const login = Buffer.from(encoded, "base64").toString("utf8");
  return [login, login.slice(login.indexOf(":") + 1)];
}

/** Keys in an address: some services have them in the query, some in the path. */
export function secretsInAddress(address: string | URL): readonly string[] {
  const url = URL.parse(String(address));
  if (url === null) return [];
  const inPath = url.pathname.split("/").filter((part) => TOKEN.test(part));
  const inQuery = [...url.searchParams].filter(
    ([name, value]) => SECRET_NAME.test(name) || TOKEN.test(value),
  );
  return [...inPath, ...inPath.map(percentDecoded), ...inQuery.map(([, value]) => value)];
}

export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
