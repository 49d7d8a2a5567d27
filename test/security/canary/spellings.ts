// The usual encodings of a credential: written independently of the sources, so that the search does not share their gaps.

const each = (text: string, spell: (code: number) => string) =>
  Array.from(text, (letter) => spell(letter.codePointAt(0) ?? 0)).join("");
const hex = (code: number, digits: number) => code.toString(16).padStart(digits, "0");
const base64 = (bytes: Buffer) => bytes.toString("base64");

/** The encodings, by name. */
export const SPELLINGS: { readonly [name: string]: (text: string) => string } = {
  plain: (text) => text,
  upper: (text) => text.toUpperCase(),
  lower: (text) => text.toLowerCase(),
  json: (text) => JSON.stringify(text).slice(1, -1),
  jsonInJson: (text) => JSON.stringify(JSON.stringify(text)).slice(3, -3),
  url: encodeURIComponent,
  urlTwice: (text) => encodeURIComponent(encodeURIComponent(text)),
  urlAll: (text) => each(text, (code) => `%${hex(code, 2)}`),
  form: (text) => new URLSearchParams({ text }).toString().slice("text=".length),
  entitiesOfHtml: (text) =>
    text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;").replaceAll("'", "&#39;"),
  entitiesDecimal: (text) => each(text, (code) => `&#${code};`),
  entitiesHex: (text) => each(text, (code) => `&#x${hex(code, 2).toUpperCase()};`),
  unicode: (text) => each(text, (code) => `\\u${hex(code, 4)}`),
  escapes: (text) => each(text, (code) => `\\x${hex(code, 2)}`),
  hex: (text) => Buffer.from(text).toString("hex"),
  hexUpper: (text) => Buffer.from(text).toString("hex").toUpperCase(),
  hexOfUtf16: (text) => Buffer.from(text, "utf16le").toString("hex"),
  hexWithColons: (text) => (Buffer.from(text).toString("hex").match(/../g) ?? []).join(":"),
  hexWithBlanks: (text) => (Buffer.from(text).toString("hex").match(/../g) ?? []).join(" "),
  urlUnicode: (text) => each(text, (code) => `%u${hex(code, 4)}`),
  octal: (text) => each(text, (code) => `\\${code.toString(8).padStart(3, "0")}`),
  unicodeLong: (text) => each(text, (code) => `\\U${hex(code, 8)}`),
  base64: (text) => base64(Buffer.from(text)),
  base64Url: (text) => Buffer.from(text).toString("base64url"),
  base64Behind1: (text) => base64(Buffer.from(`:${text}`)),
  base64Behind2: (text) => base64(Buffer.from(`a:${text}`)),
  base64Utf16: (text) => base64(Buffer.from(text, "utf16le")),
};

/** A text in all encodings. */
export function spelled(text: string): string {
  return Object.entries(SPELLINGS)
    .map(([name, spell]) => `${name} ${spell(text)}`)
    .join(" | ");
}

/** The planted secrets, by how the operator gives them: each has letters, digits and signs that encodings change. */
export const CANARIES = {
  code: "cN-code/7Q+w%9&Zt\"4'xLbV",
  named: "cN-named/3K+r%8&Yp\"2'mHgD",
  policy: "cN-policy/4D+x%6&Uv\"3'wRkP",
  tool: "cN-tool/5J+s%1&Xo\"6'nFcA",
  model: "cN-model/9G+v%4&Wu\"8'kTeS",
  http: "cN-http-2Bq7Lx9Vd4Rn6Zm8Wk",
  hook: "cN-hook-8Hy3Pt5Gs7Jf1Cu9Xa",
  server: "cN-server/6M+z%2&Ve\"7'jQiR",
} as const;

/** The canaries in some bytes, with their encodings. */
export function foundIn(bytes: Buffer, canaries: readonly string[]): readonly string[] {
  return canaries.flatMap((canary) =>
    Object.entries(SPELLINGS)
      .filter(([, spell]) => {
        const written = spell(canary);
        // Most of a secret is as bad as all of it.
        const most = written.slice(Math.ceil(written.length / 8), Math.floor((written.length * 7) / 8));
        return bytes.includes(most) || bytes.includes(Buffer.from(most, "utf16le"));
      })
      .map(([name]) => `${canary.slice(0, 9)}: ${name}`),
  );
}
