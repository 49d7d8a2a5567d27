import { type Secret, secret } from "../../core/secret.ts";

/** Shorter texts may well be part of something else. */
const LEAST_LENGTH = 8;

/** `apiKey`, `--access-token`, `DB_PASSWORD`, `Authorization`, `--pat`. */
export const SECRET_NAME = /key|token|secret|pass|auth|credential|cookie|(?:^|[-_])(?:pat|pwd)$/i;

/** Of a part of an address: what is shorter, or has no digit, is a name. */
const TOKEN = /^(?=.*\d).{16,}$/s;

/**
 * What is not to be said anywhere: each text, its words, since `Bearer …` may be sent back without its first, and the user and
 * password that `Basic …` stands for.
 */
export function secretTexts(texts: readonly string[]): readonly string[] {
  const all = texts.flatMap((text) => [text, ...text.split(/\s+/), ...loginIn(text)]);
  return [...new Set(all)].filter((text) => text.length >= LEAST_LENGTH);
}

/** The same as the `secrets` of a tool. */
export function settingSecrets(texts: readonly string[]): readonly Secret[] {
  return secretTexts(texts).map(secret);
}

function loginIn(header: string): readonly string[] {
  const [, encoded] = /^basic\s+([\w+/=-]+)$/i.exec(header) ?? [];
  if (encoded === undefined) return [];
  const login = Buffer.from(encoded, "base64").toString("utf8");
  return [login, login.slice(login.indexOf(":") + 1)];
}

/** Some services have the key in the query of their address, and some in the path. */
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
