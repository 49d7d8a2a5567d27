import { z } from "zod";
import { ConfigurationError } from "../../core/errors.ts";
import { unknownOption } from "../../core/naming/option-names.ts";
import { extractSecrets, type Secret } from "../../core/secret/secret.ts";

// The settings of the built-in tools as plain JSON, so that a file can contain them and be checked. Code may use `secret(…)`
// in place of any string.

const headers = z.record(z.string(), z.string());

const sendMailSettings = z
  .strictObject({
    url: z
      .string()
      .regex(/^smtps?:\/\/./, "use smtp://user:password@host:587 or smtps://user:password@host")
      .optional()
      .describe("The URL of the mail server: smtp://user:password@host:587 or smtps://user:password@host."),
    host: z.string().min(1).optional().describe("The host of the mail server, if there is no url."),
    port: z.int().min(1).max(65_535).optional().describe("By default 587, or 465 if secure."),
    secure: z.boolean().optional().describe("Whether the connection begins with TLS."),
    user: z.string().min(1).optional().describe("The user of the login."),
    password: z.string().min(1).optional().describe("The password of the login."),
    private: z
      .boolean()
      .optional()
      .describe(
        "Whether its name may resolve to a private address; an IP address, and localhost, may be private anyway.",
      ),
    from: z
      .string()
      .regex(/^[^\r\n]*@[^\r\n]*$/, "give an address: reports@example.com or Reports <reports@example.com>")
      .describe("The sender: reports@example.com or Reports <reports@example.com>."),
  })
  .refine(({ url, host }) => (url === undefined) !== (host === undefined), "give either url or host")
  .refine(
    ({ url, port, secure, user, password }) =>
      url === undefined || [port, secure, user, password].every((given) => given === undefined),
    "url already contains port, secure, user and password: leave them out",
  )
  .refine(
    ({ user, password }) => (user === undefined) === (password === undefined),
    "give user and password, or neither",
  );

const notifySettings = z.strictObject({
  url: z.url({ protocol: /^https?$/ }).describe("The webhook: it gets a POST with JSON."),
  keyed: z
    .boolean()
    .optional()
    .describe("Whether the receiver drops duplicates with the same Idempotency-Key."),
  headers: headers.optional().describe("Headers to send, for credentials."),
});

const httpRequestSettings = z.strictObject({
  keyed: z
    .boolean()
    .optional()
    .describe("Whether every service that is called drops duplicates with the same key."),
  idempotencyHeader: z
    .string()
    .regex(/^[\w-]+$/, "give the name of a header")
    .optional()
    .describe("The header that carries the key; by default Idempotency-Key."),
  credentials: z
    .record(z.url({ protocol: /^https?$/ }), headers)
    .optional()
    .describe(
      "Headers by origin (https://api.example.com): sent there and nowhere else, and never shown to the model.",
    ),
});

const none = z.strictObject({});

/** The settings of each built-in tool, as a schema of plain JSON. */
export const builtInToolSettings = {
  read_file: none,
  write_file: none,
  list_files: none,
  search_files: none,
  fetch_page: none,
  http_request: httpRequestSettings,
  render_pdf: none,
  ask_human: none,
  send_mail: sendMailSettings,
  notify: notifySettings,
} as const satisfies { readonly [name: string]: z.ZodType };

/** The name of a built-in tool. */
export type BuiltInToolName = keyof typeof builtInToolSettings;

/** The same type, with a secret allowed in place of any string. */
type OrSecret<T> = T extends string
  ? string | Secret
  : T extends object
    ? { readonly [K in keyof T]: OrSecret<T[K]> }
    : T;

type JsonSettings<N extends BuiltInToolName> = z.output<(typeof builtInToolSettings)[N]>;

/** The settings of a built-in tool, with a `secret(…)` allowed in place of any text. */
export type SettingsOf<N extends BuiltInToolName> = OrSecret<JsonSettings<N>>;

/** Validated settings, and the secrets in them. */
export type CheckedSettings<N extends BuiltInToolName> = {
  readonly settings: JsonSettings<N>;
  readonly secrets: readonly string[];
};

const MISSING = /received undefined$/;

export function checkSettings<N extends BuiltInToolName>(name: N, given: unknown): CheckedSettings<N> {
  const { revealed, texts } = extractSecrets(given);
  const schema: z.ZodType = builtInToolSettings[name];
  const parsed = schema.safeParse(revealed);
  if (parsed.success) return { settings: parsed.data as JsonSettings<N>, secrets: texts };
  const unknown = parsed.error.issues.find(({ code }) => code === "unrecognized_keys");
  if (unknown?.code === "unrecognized_keys")
    throw new ConfigurationError(unknownOption(name, unknown.keys[0] ?? "", settingNames(schema)));
  const problems = parsed.error.issues.map(({ path, message }) =>
    [name, ...path.map(String)].join(".").concat(MISSING.test(message) ? " is missing" : `: ${message}`),
  );
  throw new ConfigurationError(`The settings of ${name} cannot be used: ${problems.join("; ")}.`);
}

/** The names of a tool's settings. */
export function settingNames(schema: z.ZodType | null): readonly string[] {
  return schema !== null && "shape" in schema && typeof schema.shape === "object" && schema.shape !== null
    ? Object.keys(schema.shape)
    : [];
}
