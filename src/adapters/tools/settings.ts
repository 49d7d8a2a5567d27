import { z } from "zod";
import { ConfigurationError } from "../../core/errors.ts";
import { extractSecrets, type Secret } from "../../core/secret/secret.ts";

// The settings of the built-in tools as plain JSON, so that a file can give them and be checked. Code may put `secret(…)` in
// the place of any text of them.

const headers = z.record(z.string(), z.string());

const sendMailSettings = z
  .strictObject({
    url: z
      .string()
      .regex(/^smtps?:\/\/./, "use smtp://user:password@host:587 or smtps://user:password@host")
      .optional()
      .describe("Where the mail server is: smtp://user:password@host:587 or smtps://user:password@host."),
    host: z.string().min(1).optional().describe("The host of the mail server, where there is no url."),
    port: z.int().min(1).max(65_535).optional().describe("587 unless said otherwise, 465 where secure."),
    secure: z.boolean().optional().describe("Whether the connection begins with TLS."),
    user: z.string().min(1).optional(),
    password: z.string().min(1).optional(),
    private: z
      .boolean()
      .optional()
      .describe(
        "Whether its name may have a private address; an address, and localhost, may be private anyway.",
      ),
    from: z
      .string()
      .regex(/^[^\r\n]*@[^\r\n]*$/, "give an address: reports@example.com or Reports <reports@example.com>")
      .describe("Who the mail is from: reports@example.com or Reports <reports@example.com>."),
  })
  .refine(({ url, host }) => (url === undefined) !== (host === undefined), "give either url or host")
  .refine(
    ({ url, port, secure, user, password }) =>
      url === undefined || [port, secure, user, password].every((given) => given === undefined),
    "url says port, secure, user and password itself: leave them out",
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
    .describe("Whether the receiver drops what comes again with the same Idempotency-Key."),
  headers: headers.optional().describe("Sent along, for credentials."),
});

const httpRequestSettings = z.strictObject({
  keyed: z
    .boolean()
    .optional()
    .describe("Whether every service that is asked drops what comes again with the same key."),
  idempotencyHeader: z
    .string()
    .regex(/^[\w-]+$/, "give the name of a header")
    .optional()
    .describe("The header that carries the key; Idempotency-Key unless said otherwise."),
  credentials: z
    .record(z.url({ protocol: /^https?$/ }), headers)
    .optional()
    .describe(
      "Headers by origin (https://api.example.com): sent there and nowhere else, unseen by the model.",
    ),
});

const none = z.strictObject({});

/** What each built-in tool can be told, as a schema of plain JSON. */
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

export type BuiltInToolName = keyof typeof builtInToolSettings;

/** The same with a secret in the place of any text. */
export type OrSecret<T> = T extends string
  ? string | Secret
  : T extends object
    ? { readonly [K in keyof T]: OrSecret<T[K]> }
    : T;

type JsonSettings<N extends BuiltInToolName> = z.output<(typeof builtInToolSettings)[N]>;

export type SettingsOf<N extends BuiltInToolName> = OrSecret<JsonSettings<N>>;

/** Settings that were looked at, and the secrets that are in them. */
export type CheckedSettings<N extends BuiltInToolName> = {
  readonly settings: JsonSettings<N>;
  readonly secrets: readonly string[];
};

export function checkSettings<N extends BuiltInToolName>(name: N, given: unknown): CheckedSettings<N> {
  const { revealed, texts } = extractSecrets(given);
  const schema: z.ZodType = builtInToolSettings[name];
  const parsed = schema.safeParse(revealed);
  if (parsed.success) return { settings: parsed.data as JsonSettings<N>, secrets: texts };
  const problems = parsed.error.issues.map(({ path, message }) =>
    [name, ...path.map(String)].join(".").concat(`: ${message}`),
  );
  throw new ConfigurationError(`The settings of ${name} cannot be used: ${problems.join("; ")}.`);
}
