import { canonicalHash } from "../canonical-json.ts";
import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import type { SideEffectClass } from "./tool-call-decision.ts";
import { ACTION_WORDS, READ_ONLY_WORDS } from "./tool-classification.ts";
import { wordSet } from "./tool-name.ts";

export type IdentityScope = "email" | "upload" | "memory";

/** Each built-in scope in words: what its tools do, and how two of their calls are compared. */
export const SCOPE_TEXTS: Readonly<Record<IdentityScope, string>> = {
  email: "by its name it sends mail, and mails are compared by recipients, subject and attachments",
  upload: "by its name it uploads, and uploads are compared by path and destination",
  memory: "by its name it adds to a memory, and entries are compared by kind, scope and content",
};

/** Names of fields are compared without case and separators: `Idempotency-Key` and `idempotencykey` are IDEMPOTENCYKEY. */
const KEY_NAMES = wordSet("IDEMPOTENCYKEY IDEMPOTENCYID IDEMPOTENCYTOKEN IDEMPOTENTKEY IDEMPOTENCEKEY");
const REQUEST_NAMES = wordSet("REQUESTID REQUESTUUID REQID");
const TRACE_NAMES = wordSet(`
  TRACEID SPANID PARENTSPANID TRACEPARENT TRACESTATE CORRELATIONID B3TRACEID B3SPANID B3PARENTSPANID AMZNTRACEID
  CLOUDTRACECONTEXT
`);
const ABOUT_REQUESTS = wordSet("REQUEST REQUESTS");
const ABOUT_TRACES = wordSet("TRACE TRACES SPAN SPANS CORRELATION CORRELATIONS");

/**
 * The arguments without the fields that belong to the transport and not to the effect: idempotency keys, request and trace
 * ids. A tool about requests or traces keeps those. So does a call, or an item of a list, that would be empty without them:
 * it is about that id.
 *
 * @example
 * withoutVolatile(["SEND", "SMS"], { to: "+1", headers: { "X-Request-Id": "r-7" } }); // { to: "+1", headers: {} }
 */
export function withoutVolatile(toolTokens: readonly string[], args: Json): Json {
  const requests = hasAny(toolTokens, ABOUT_REQUESTS) ? "kept" : "left out";
  const traces = hasAny(toolTokens, ABOUT_TRACES) ? "kept" : "left out";
  return strip(args, VOLATILE[requests][traces]);
}

/** Built once, since every call needs it: by whether request ids and trace ids are kept. */
const VOLATILE = {
  kept: { kept: KEY_NAMES, "left out": new Set([...KEY_NAMES, ...TRACE_NAMES]) },
  "left out": {
    kept: new Set([...KEY_NAMES, ...REQUEST_NAMES]),
    "left out": new Set([...KEY_NAMES, ...REQUEST_NAMES, ...TRACE_NAMES]),
  },
} as const;

/** All arguments, or an item of a list among them. */
function strip(value: Json, volatile: ReadonlySet<string>): Json {
  const kept = stripFields(value, volatile);
  const isEmptied = isJsonObject(kept) && Object.keys(kept).length === 0;
  return isEmptied ? value : kept;
}

function stripFields(value: Json, volatile: ReadonlySet<string>): Json {
  if (isList(value)) return value.map((item) => strip(item, volatile));
  if (!isJsonObject(value)) return value;
  // An id is a plain value: an object or a list under such a name is something else.
  const isVolatile = (name: string, field: Json) => !isContainer(field) && volatile.has(plainName(name));
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, field]) => !isVolatile(name, field))
      .map(([name, field]) => [name, stripFields(field, volatile)]),
  );
}

/** A name without case and separators. The "X-" of a header name is optional. */
function plainName(name: string): string {
  const bare =
    /^x(?:[^\p{L}\p{N}]|(?=\p{Lu}))/u.test(name) || /^X[^\p{L}\p{N}]/u.test(name) ? name.slice(1) : name;
  return bare.replace(/[^\p{L}\p{N}]+/gu, "").toUpperCase();
}

/**
 * The identity of an effect, for tools that send email, upload or write to a memory. Only fields known to be wording are left
 * out. Every other field stays (as `other`): without an account, a thread or a date, two effects would look like one, and
 * the second would be silently lost. Null if the arguments are not understood: then all of them are the identity.
 */
export function builtInIdentity(
  tokens: readonly string[],
  effect: SideEffectClass,
  args: Json,
): { readonly scope: IdentityScope; readonly identity: Json } | null {
  const sent = withoutVolatile(tokens, args);
  const scope = builtInScope(tokens, effect);
  if (scope === null || !isJsonObject(sent)) return null;
  const identity = IDENTITIES[scope](sent);
  return identity === null ? null : { scope, identity };
}

const IDENTITIES: Readonly<Record<IdentityScope, (args: JsonObject) => Json>> = {
  email: emailIdentity,
  upload: uploadIdentity,
  memory: memoryIdentity,
};

const MAIL_WORDS = wordSet(
  "EMAIL EMAILS MAIL MAILS GMAIL OUTLOOK SMTP MAILGUN MAILCHIMP POSTMARK SENDGRID SES",
);
const MAIL_VERBS = wordSet("SEND REPLY FORWARD");
const MAIL_NAMES = wordSet("SENDMAIL SENDEMAIL");
const DRAFT_WORDS = wordSet("DRAFT DRAFTS");
/** Setting a memory to A, to B and to A again is three effects: only a tool that adds to it has the scope. */
const OVERWRITE_WORDS = wordSet(
  "CLEAR DELETE EDIT ERASE FORGET MODIFY MOVE OVERWRITE REMOVE RENAME REPLACE SET UPDATE UPSERT",
);

/** The built-in scope of a tool with these words in its name; null for none, and then all arguments are the identity. */
export function builtInScope(tokens: readonly string[], effect: SideEffectClass): IdentityScope | null {
  if (effect === "read_only") return null;
  if (effect === "memory") return hasAny(tokens, OVERWRITE_WORDS) ? null : "memory";
  // get_upload_url, cancel_upload, create_mail_forward_rule: these do more than the scope covers.
  if (tokens.some((token) => READ_ONLY_WORDS.has(token) || (ACTION_WORDS.has(token) && token !== "SEND")))
    return null;
  const isMail = hasAny(tokens, MAIL_NAMES) || (hasAny(tokens, MAIL_WORDS) && hasAny(tokens, MAIL_VERBS));
  if (isMail) return hasAny(tokens, DRAFT_WORDS) ? null : "email";
  return tokens.includes("UPLOAD") ? "upload" : null;
}

type ArgumentField = {
  readonly name: string;
  readonly plain: string;
  readonly value: Json;
  /** A field of the object inside the arguments that holds the email. */
  readonly isInner: boolean;
};

/** A blank field counts as absent. Sorted, since two spellings of one name may come in any order. */
function fieldsOf(object: JsonObject): readonly ArgumentField[] {
  return Object.keys(object)
    .sort()
    .map((name) => ({ name, plain: plainName(name), value: object[name] ?? null, isInner: false }))
    .filter(({ value }) => !isBlank(value));
}

function innerFields(value: Json): readonly ArgumentField[] {
  return isJsonObject(value) ? fieldsOf(value).map((field) => ({ ...field, isInner: true })) : [];
}

/** The first name in the set wins, not the first field. */
function firstNamed(fields: readonly ArgumentField[], names: ReadonlySet<string>): ArgumentField | undefined {
  for (const name of names) {
    const found = fields.find(({ plain }) => plain === name);
    if (found !== undefined) return found;
  }
  return undefined;
}

function asObject(fields: readonly ArgumentField[]): JsonObject {
  return Object.fromEntries(fields.map(({ name, value }) => [name, value]));
}

const RECIPIENT_NAMES = wordSet(`
  TO CC BCC RECIPIENT RECIPIENTS RECIPIENTEMAIL RECIPIENTEMAILS RECIPIENTADDRESS RECIPIENTADDRESSES TOEMAIL TOEMAILS
  TOADDRESS TOADDRESSES TORECIPIENT TORECIPIENTS CCEMAIL CCEMAILS CCADDRESS CCADDRESSES CCRECIPIENT CCRECIPIENTS
  BCCEMAIL BCCEMAILS BCCADDRESS BCCADDRESSES BCCRECIPIENT BCCRECIPIENTS EXTRARECIPIENTS ADDITIONALRECIPIENTS EMAILTO
  MAILTO SENDTO
`);
const ADDRESS_NAMES = wordSet("EMAIL EMAILS EMAILADDRESS EMAILADDRESSES MAIL ADDRESS ADDRESSES");
const SUBJECT_NAMES = wordSet("SUBJECT EMAILSUBJECT MAILSUBJECT MESSAGESUBJECT SUBJECTLINE");
const ATTACHMENT_NAMES = wordSet(
  "ATTACHMENT ATTACHMENTS ATTACHMENTPATH ATTACHMENTPATHS ATTACHMENTFILE ATTACHMENTFILES",
);
/** The same email in other words is the same email: an agent that starts over never finds the same words. */
const WORDING_NAMES = wordSet(`
  BODY HTML TEXT CONTENT CONTENTS MESSAGE MARKDOWN PLAINTEXT EMAILBODY MAILBODY MESSAGEBODY BODYHTML HTMLBODY BODYTEXT
  TEXTBODY BODYMARKDOWN EMAILCONTENT MESSAGECONTENT MESSAGETEXT HTMLCONTENT TEXTCONTENT ISHTML BODYTYPE BODYFORMAT
  CONTENTTYPE BODYCONTENTTYPE COMMENT
`);
/** Fields that identify an email without a subject: the thread or the email that it replies to, or a template. */
const MAIL_ID_NAMES = wordSet(`
  ID THREAD THREADID CONVERSATIONID MESSAGEID EMAILID MAILID PARENTMESSAGEID ORIGINALMESSAGEID INREPLYTO REPLYTOID
  REPLYTOMESSAGEID TEMPLATE TEMPLATEID TEMPLATENAME
`);

function emailIdentity(args: JsonObject): Json {
  const { fields, wrapper } = mailFields(args);
  const to = fields.filter(({ plain }) => RECIPIENT_NAMES.has(plain));
  const recipients = addressesOf(to);
  if (recipients === null || recipients.length === 0) return null;
  const subject = fields.find(({ plain, value }) => SUBJECT_NAMES.has(plain) && typeof value === "string");
  // Without any of these, only the wording distinguishes two emails to one person.
  if (subject === undefined && !fields.some(({ plain }) => MAIL_ID_NAMES.has(plain))) return null;
  const attachments = fields.filter(({ plain }) => ATTACHMENT_NAMES.has(plain));
  const understood = new Set([...to, subject, ...attachments]);
  const other = fields.filter((field) => !understood.has(field) && !isWording(field));
  const outer = asObject(other.filter(({ isInner }) => !isInner));
  const inner = asObject(other.filter(({ isInner }) => isInner));
  return {
    recipients,
    subject: typeof subject?.value === "string" ? subject.value.trim() : null,
    attachments:
      attachments.length === 0 ? null : hashOf(attachments.map(({ name, value }) => [name, value])),
    other: wrapper === null ? outer : { ...outer, [wrapper]: inner },
  };
}

/** The email may be an object in the arguments, as in `{ message: { toRecipients, subject, body } }`. */
function mailFields(args: JsonObject): {
  readonly fields: readonly ArgumentField[];
  readonly wrapper: string | null;
} {
  const outer = fieldsOf(args);
  const hasRecipient = (fields: readonly ArgumentField[]) =>
    fields.some(({ plain }) => RECIPIENT_NAMES.has(plain));
  if (hasRecipient(outer)) return { fields: outer, wrapper: null };
  for (const { name, value } of outer) {
    const inner = innerFields(value);
    if (hasRecipient(inner))
      return { fields: [...outer.filter((field) => field.name !== name), ...inner], wrapper: name };
  }
  // `email` is the recipient if no other field can be, and only if it holds an address.
  const asRecipient = ({ plain, value }: ArgumentField) => ADDRESS_NAMES.has(plain) && isAddress(value);
  return {
    fields: outer.map((field) => (asRecipient(field) ? { ...field, plain: "TO" } : field)),
    wrapper: null,
  };
}

function isAddress(value: Json): boolean {
  const found = addressesIn(value);
  return found !== null && found.every((address) => /^\S+@\S+$/.test(address));
}

function isWording({ plain, value }: ArgumentField): boolean {
  if (!WORDING_NAMES.has(plain) || isList(value)) return false;
  return !isJsonObject(value) || fieldsOf(value).every(isWording);
}

/** Sorted, without duplicates, in lower case; null if one of them is not understood. */
function addressesOf(fields: readonly { readonly value: Json }[]): readonly string[] | null {
  const found = fields.map(({ value }) => addressesIn(value));
  if (found.includes(null)) return null;
  return [...new Set(found.flatMap((list) => list ?? []))].sort();
}

function addressesIn(value: Json): readonly string[] | null {
  if (typeof value === "string") {
    // "Ann <ann@example.org>" is the same mailbox under any name.
    const parts = value.split(/[,;]/).map((part) => /<([^<>]+)>\s*$/.exec(part)?.[1] ?? part);
    return parts.map((part) => part.trim().toLowerCase()).filter((part) => part !== "");
  }
  if (isList(value)) return addressesOf(value.map((item) => ({ value: item })));
  if (!isJsonObject(value)) return value === null ? [] : null;
  const fields = fieldsOf(value);
  const addresses = fields.filter(({ plain }) => ADDRESS_NAMES.has(plain));
  const isUnderstood = fields.every(({ plain }) => ADDRESS_NAMES.has(plain) || /NAME$|^TYPE$/.test(plain));
  return isUnderstood && addresses.length === 1 ? addressesOf(addresses) : null;
}

/** In order of precedence: a field called local names the file, and then `path` is the destination. */
const PATH_NAMES = wordSet(`
  LOCALFILEPATH LOCALPATH LOCALFILE SOURCEPATH SOURCEFILEPATH SOURCEFILE SOURCE SRC FILEPATH FILEPATHS FILE FILES PATH
  PATHS FILENAME
`);
const CAPTION_NAMES = wordSet("DESCRIPTION CAPTION COMMENT INITIALCOMMENT");

/** Every field but the file and its caption counts as the destination: new content under the same path is another upload. */
function uploadIdentity(args: JsonObject): Json {
  const fields = fieldsOf(args);
  const path = firstNamed(fields, PATH_NAMES);
  if (path === undefined) return null;
  const destination = fields.filter((field) => field !== path && !CAPTION_NAMES.has(field.plain));
  return { path: hashOf(path.value), destination: asObject(destination) };
}

const CONTENT_NAMES = wordSet(`
  CONTENT CONTENTS TEXT MEMORY MEMORIES VALUE DATA FACT FACTS ENTRY NOTE OBSERVATION OBSERVATIONS MESSAGE MESSAGES
`);
const KIND_NAMES = wordSet("KIND MEMORYKIND MEMORYTYPE TYPE LABEL BLOCK BLOCKLABEL CATEGORY");
const SCOPE_NAMES = wordSet("SCOPE MEMORYSCOPE NAMESPACE");

function memoryIdentity(args: JsonObject): Json {
  const fields = fieldsOf(args);
  const content = firstNamed(fields, CONTENT_NAMES);
  if (content === undefined) return null;
  const kind = firstNamed(fields, KIND_NAMES);
  const scope = firstNamed(fields, SCOPE_NAMES);
  const other = fields.filter((field) => field !== content && field !== kind && field !== scope);
  return {
    kind: kind?.value ?? null,
    scope: scope?.value ?? null,
    content: hashOf(content.value),
    other: asObject(other),
  };
}

export type DedupedTool = {
  readonly declared: "effect" | "call" | null;
  /** The tool has its own identity function. */
  readonly hasIdentity: boolean;
  readonly scope: IdentityScope | null;
  readonly effect: SideEffectClass;
  readonly known: boolean;
};

/**
 * Decides whether the same effect may happen once in a run (`effect`) or once per call (`call`). A tool that only counts as
 * external, without being known to be, is not limited to once: its second call may be an intended read.
 */
export function dedupeOf(
  tool: DedupedTool,
  { noDuplicateExternalActions }: { readonly noDuplicateExternalActions: boolean },
): "effect" | "call" {
  // The contract of the run overrides the tool's own declaration.
  if (noDuplicateExternalActions && tool.effect === "external" && tool.known) return "effect";
  return tool.declared ?? (tool.hasIdentity || tool.scope !== null ? "effect" : "call");
}

function hashOf(value: Json): string {
  return canonicalHash(value).toString("hex");
}

function hasAny(tokens: readonly string[], set: ReadonlySet<string>): boolean {
  return tokens.some((token) => set.has(token));
}

function isBlank(value: Json): boolean {
  return (
    value === null ||
    (typeof value === "string" && value.trim() === "") ||
    (isList(value) && value.length === 0)
  );
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

function isContainer(value: Json): boolean {
  return typeof value === "object" && value !== null;
}
