import { allowsAction, matchesAction, type NamedTool } from "./action-pattern.ts";
import { defaultRecovery, type RecoveryClass, type SideEffectClass } from "./tool-call-decision.ts";
import { parseToolName, tokensOf, wordSet } from "./tool-name.ts";

/** The operator's rules about the effects of tools. */
export type ToolPolicy = {
  /** Tools that count as external, whatever their names say. An entry is a name or a pattern, as in `forbiddenActions`. */
  readonly sideEffectDenylist?: readonly string[];
  /** Tools that only read. To match a tool of an untrusted MCP server, an entry must name the server: `files/read_*`. */
  readonly readOnlyAllowlist?: readonly string[];
  /** MCP servers whose tool names and hints are trusted. The tools of other servers are external and opaque. */
  readonly trustedServers?: readonly string[];
};

/** The hints of an MCP server about its tool. They may be wrong or dishonest. */
export type ToolAnnotations = { readonly readOnlyHint?: boolean; readonly idempotentHint?: boolean };

export type Classification = {
  readonly effect: SideEffectClass;
  readonly recovery: RecoveryClass;
  readonly rule:
    | "declared"
    | "denylist"
    | "allowlist"
    | "known_name"
    | "side_effect_word"
    | "read_only_word"
    | "untrusted_server"
    | "unknown"
    | "annotation";
  /** One sentence for people, with the word or entry that decided. */
  readonly reason: string;
  /** False if the tool counts as external only because nothing better is known. */
  readonly known: boolean;
};

export type ClassifiedTool = {
  readonly name: string;
  readonly declaredEffect: SideEffectClass | null;
  readonly declaredRecovery: RecoveryClass | null;
  readonly namespace?: string;
  readonly server?: string | null;
  readonly ownName?: string | null;
  readonly annotations?: ToolAnnotations | null;
};

type ClassifiedEffect = Pick<Classification, "effect" | "rule" | "reason">;

/** Tools whose names alone say too little, with their class. Written as tokens, so that every style of a name matches. */
const KNOWN_NAMES: ReadonlyMap<string, SideEffectClass> = new Map([
  ["WORKBENCH UPLOAD", "external"],
  ["UPLOAD TO COMPOSIO", "external"],
  ["WRITE LOCAL FILE", "local"],
  ["COMPRESS FILES", "local"],
  ["FINALIZE RESEARCH", "local"],
  ["GENERATE IMAGE", "local"],
  ["PREVIEW IMAGE", "local"],
  ["CORE MEMORY REPLACE", "memory"],
  ["CORE MEMORY APPEND", "memory"],
  ["ARCHIVAL MEMORY INSERT", "memory"],
  ["READ LOCAL FILE", "read_only"],
  ["READ RESEARCH FILES", "read_only"],
  ["LIST DIRECTORY", "read_only"],
  ["ARCHIVAL MEMORY SEARCH", "read_only"],
  ["GET CORE MEMORY BLOCKS", "read_only"],
  ["DESCRIBE IMAGE", "read_only"],
  ["CRAWL PARALLEL", "read_only"],
]);

/** Words that are hardly ever anything but verbs: they decide, whatever other words are there (getOrCreateUser). */
export const ACTION_WORDS = wordSet(`
  ABORT ACCEPT ADD APPEND APPROVE ASSIGN ATTACH CANCEL CLEAR CONFIRM CREATE DECLINE DECREMENT DELETE DEPLOY DESTROY
  DETACH DISABLE EDIT ENABLE ENROLL ERASE INCREMENT INSERT INSTALL KILL MARK MODIFY MOVE NOTIFY OVERWRITE PROVISION
  PUBLISH PURGE PUT REBOOT REJECT REMOVE RENAME REPLACE RESCHEDULE RESTART REVERT REVOKE SAVE SEND SUBMIT SUBSCRIBE
  SUSPEND TERMINATE TOGGLE TRUNCATE UNARCHIVE UNASSIGN UNDO UNFOLLOW UNINSTALL UNLINK UNLOCK UNPUBLISH UNSUBSCRIBE
  UPDATE UPSERT WITHDRAW WRITE
`);

/**
 * Verbs that are also nouns: `order_pizza` acts, `get_order` most likely does not, `find_and_order` does. Beside a read-only
 * word they leave the tool unknown. It is external either way, but a tool known to be external may be limited to one call
 * in a run, and an agent that polls `get_order` would see its first answer forever.
 */
export const NOUN_OR_ACTION_WORDS = wordSet(`
  ARCHIVE BAN BID BLOCK BOOK BROADCAST BUY CHANGE CHARGE CHECKOUT CLONE CLOSE COMMENT COMMIT COMPLETE CONNECT COPY
  DEPOSIT DISPATCH DROP DUPLICATE FLAG FOLLOW FORK FORWARD GRANT IMPORT INVITE JOIN LABEL LEAVE LIKE LINK LOCK MERGE
  MUTE ORDER PATCH PAUSE PAY PIN POST PRINT PROMOTE PURCHASE PUSH REFUND REGISTER RELEASE REPLY RESEND RESERVE RESET
  RESTORE RESUME RETWEET ROLLBACK SCHEDULE SELL SET SHARE SHIP SHUTDOWN SIGN STAR START STOP STORE TAG TRADE TRANSFER
  TRANSITION TRIGGER TWEET UPLOAD VOTE
`);

/**
 * The tool does something, but the name does not say what: a query language has DELETE, too, a script can do anything, an
 * export or a download writes somewhere. Never read-only, and never known: `run_tests` twice is no duplicate.
 */
export const OPEN_ENDED_WORDS = wordSet(`
  APPLY BASH BUILD CALL CLICK COMMAND COMPILE DOWNLOAD EVAL EXEC EXECUTE EXPORT FILL GENERATE GRAPHQL INVOKE LAUNCH
  MAKE PERFORM POPULATE PRESS PROCESS QUERY REBUILD REFRESH REORDER RUN SCRIPT SHELL SQL SYNC TAP
`);

// In none of these lists, since they are nouns far more often, and alone they leave a tool unknown, thus external:
// EMAIL ISSUE LOG MESSAGE NOTE RATE RECORD REPORT REQUEST REVIEW (get_email reads), OPEN (list_open_issues reads).

/**
 * Left out, although they sound like reading: CHECK (check_in, check_out), VERIFY (it may send the code), SHOW
 * (show_notification), WATCH (Gmail's subscribes), SCAN (it may start a job), BROWSE, CRAWL, QUERY.
 */
export const READ_ONLY_WORDS = wordSet("GET LIST SEARCH READ FETCH RETRIEVE DESCRIBE FIND GLOB GREP LOOKUP");

/** Also nouns (refresh_view), so they count only at the beginning of a name (view_file). */
const READ_ONLY_FIRST_WORDS = wordSet("COUNT VIEW");

/** Changes to files and memories. SEND, SHARE and UPLOAD leave the machine, so they are not among them. */
const WRITE_WORDS = wordSet(`
  ADD APPEND CLEAR COPY CREATE DELETE EDIT INSERT MODIFY MOVE OVERWRITE PUT REMOVE RENAME REPLACE SAVE SET STORE
  UPDATE WRITE
`);
const SMALL_WORDS = wordSet("A ALL AN AND FROM IN INTO NEW OF OR THE TO");
const MEMORY_WORDS = wordSet("MEMORY MEMORIES");
const MEMORY_DETAILS = wordSet(
  "AGENT ARCHIVAL BLOCK BLOCKS CORE ENTRIES ENTRY ITEM ITEMS LONG SHORT TERM USER WORKING",
);
const LOCAL_WORDS = wordSet("DIRECTORY FILE FILES LOCAL");
const LOCAL_DETAILS = wordSet(
  "BINARY CONTENT CONTENTS CSV DISK FOLDER HTML JSON LINE LINES MARKDOWN TEMP TEXT XML YAML",
);

/**
 * Classifies a tool: what it changes, and what may be done about a call whose outcome is unknown. The developer's
 * declaration overrides everything. An unclear tool is external: asking a person costs less than a second email.
 *
 * @example
 * classifyTool({ name: "GMAIL_SEND_EMAIL", declaredEffect: null, declaredRecovery: null }, {});
 * // { effect: "external", recovery: "opaque", rule: "side_effect_word", known: true, reason: "The word SEND …" }
 */
export function classifyTool(tool: ClassifiedTool, policy: ToolPolicy): Classification {
  const subject = subjectOf(tool, policy);
  const classified =
    declared(tool) ??
    denied(subject, policy) ??
    hintedReadOnly(tool, subject, allowed(subject, policy) ?? byName(subject));
  return {
    ...classified,
    recovery: recoveryOf(tool, classified.effect, subject),
    known: classified.rule !== "unknown" && classified.rule !== "untrusted_server",
  };
}

type Subject = {
  /** What the entries of a list are compared with. */
  readonly named: NamedTool;
  readonly tokens: readonly string[];
  /** The words that are searched for actions. */
  readonly suspects: readonly string[];
  /** Given by the caller or by an `mcp__` name. A server that is merely guessed from a name is never trusted. */
  readonly server: string | null;
  readonly isOfServer: boolean;
  readonly isTrusted: boolean;
};

function subjectOf(
  { name, namespace, server: given, ownName = null }: ClassifiedTool,
  { trustedServers = [] }: ToolPolicy,
): Subject {
  const parsed = parseToolName(name);
  const isMcpName = /^mcp__/i.test(name);
  const server = given === undefined && isMcpName ? parsed.server : (given ?? null);
  return {
    named: { name, namespace: namespace ?? (server === null ? "local" : "mcp"), server, ownName },
    tokens: parsed.tokens,
    // `create__list` may have no server at all: `create` may be a verb.
    suspects: isMcpName || parsed.server === given ? parsed.tokens : tokensOf(name),
    server,
    isOfServer: server !== null || isMcpName,
    isTrusted: server !== null && trustedServers.includes(server),
  };
}

function declared({ declaredEffect: effect }: ClassifiedTool): ClassifiedEffect | null {
  if (effect === null) return null;
  return { effect, rule: "declared", reason: `The tool itself declares that it is ${effect}.` };
}

function denied({ named }: Subject, { sideEffectDenylist = [] }: ToolPolicy): ClassifiedEffect | null {
  const entry = matchesAction(sideEffectDenylist, named);
  if (entry === null) return null;
  return { effect: "external", rule: "denylist", reason: `sideEffectDenylist has ${JSON.stringify(entry)}.` };
}

function allowed(subject: Subject, { readOnlyAllowlist = [] }: ToolPolicy): ClassifiedEffect | null {
  const entry = allowingEntry(subject, readOnlyAllowlist);
  if (entry === null) return null;
  return {
    effect: "read_only",
    rule: "allowlist",
    reason: `readOnlyAllowlist has ${JSON.stringify(entry)}.`,
  };
}

/** Names of local tools, and of tools of a trusted server, can be believed. */
function allowingEntry(
  { named, server, isOfServer, isTrusted }: Subject,
  entries: readonly string[],
): string | null {
  if (!isOfServer || isTrusted) return matchesAction(entries, named);
  return server === null ? null : allowsAction(entries, { ...named, server });
}

/** True if an entry of `readOnlyAllowlist` applies to a tool. An entry that names no server allows nothing to untrusted ones. */
export function isAllowed(tool: ClassifiedTool, entry: string, policy: ToolPolicy): boolean {
  return allowingEntry(subjectOf(tool, policy), [entry]) !== null;
}

/** The server chose the name: where the server is not trusted, a name may only make the classification stricter. */
function byName(subject: Subject): ClassifiedEffect {
  const classified = knownName(subject) ?? byWords(subject);
  if (!subject.isOfServer || subject.isTrusted || classified.effect === "external") return classified;
  const which = subject.server === null ? "an MCP server" : `MCP server ${subject.server}`;
  const reason = `It comes from ${which}, which is not in policy.trustedServers: whatever its name says, it counts as external.`;
  return { effect: "external", rule: "untrusted_server", reason };
}

const CHANGED: Readonly<Record<SideEffectClass, string>> = {
  external: "changes something outside",
  memory: "changes the agent's memory",
  local: "changes local files",
  read_only: "only reads",
};

function knownName({ tokens, suspects }: Subject): ClassifiedEffect | null {
  const effect = KNOWN_NAMES.get(tokens.join(" "));
  if (effect === undefined || (effect === "read_only" && suspects.some(mayAct))) return null;
  const name = tokens.join("_").toLowerCase();
  return { effect, rule: "known_name", reason: `${name} is a known tool that ${CHANGED[effect]}.` };
}

function mayAct(token: string): boolean {
  return ACTION_WORDS.has(token) || NOUN_OR_ACTION_WORDS.has(token) || OPEN_ENDED_WORDS.has(token);
}

function byWords({ tokens, suspects, server }: Subject): ClassifiedEffect {
  const read =
    tokens.find((token) => READ_ONLY_WORDS.has(token)) ??
    tokens.slice(0, 1).find((token) => READ_ONLY_FIRST_WORDS.has(token));
  const clear = suspects.find((token) => ACTION_WORDS.has(token));
  const doubtful = suspects.find((token) => NOUN_OR_ACTION_WORDS.has(token));
  const action = clear ?? (read === undefined ? doubtful : undefined);
  if (action !== undefined) {
    const effect = effectOfAction(suspects, server);
    return {
      effect,
      rule: "side_effect_word",
      reason: `The word ${action} in its name says that it ${CHANGED[effect]}.`,
    };
  }
  const doubt = doubtful ?? suspects.find((token) => OPEN_ENDED_WORDS.has(token));
  if (read !== undefined && doubt === undefined) {
    const reason = `The word ${read} in its name says that it only reads.`;
    return { effect: "read_only", rule: "read_only_word", reason };
  }
  return { effect: "external", rule: "unknown", reason: whyUnknown(read, doubt) };
}

function whyUnknown(read: string | undefined, doubt: string | undefined): string {
  if (doubt === undefined) return "Nothing in its name says what it does, so it counts as external.";
  if (read === undefined)
    return `The word ${doubt} in its name can mean any change, so it counts as external.`;
  return `The word ${read} in its name says that it reads, but ${doubt} may be an action, so it counts as external.`;
}

/**
 * Memory or local only if every word of the name is about that: update_memory_limit is about a machine, and create_file of a
 * GitHub server is about a repository.
 */
function effectOfAction(tokens: readonly string[], server: string | null): SideEffectClass {
  const isAbout = (subject: ReadonlySet<string>, details: ReadonlySet<string>) =>
    tokens.some((token) => subject.has(token)) &&
    tokens.some((token) => WRITE_WORDS.has(token)) &&
    tokens.every((token) => [subject, details, WRITE_WORDS, SMALL_WORDS].some((set) => set.has(token)));
  if (isAbout(MEMORY_WORDS, MEMORY_DETAILS)) return "memory";
  const isHere =
    server === null || [...tokens, ...tokensOf(server)].some((token) => /^(?:LOCAL|FILESYSTEM)$/.test(token));
  return isHere && isAbout(LOCAL_WORDS, LOCAL_DETAILS) ? "local" : "external";
}

/** A hint that makes things stricter counts whatever a list has; one that loosens them counts only from a trusted server. */
function hintedReadOnly(
  { annotations }: ClassifiedTool,
  { isTrusted }: Subject,
  classified: ClassifiedEffect,
): ClassifiedEffect {
  const hint = annotations?.readOnlyHint;
  if (hint === false && classified.effect === "read_only") {
    const reason = "Its server says that it is not read-only (readOnlyHint: false).";
    return { effect: "external", rule: "annotation", reason };
  }
  if (hint === true && isTrusted && classified.effect !== "read_only") {
    const reason = "Its server, which is trusted, says that it is read-only (readOnlyHint: true).";
    return { effect: "read_only", rule: "annotation", reason };
  }
  return classified;
}

function recoveryOf(tool: ClassifiedTool, effect: SideEffectClass, { isTrusted }: Subject): RecoveryClass {
  if (tool.declaredRecovery !== null) return tool.declaredRecovery;
  const hint = tool.annotations?.idempotentHint;
  if (hint === true && isTrusted) return "repeat";
  if (hint === false && tool.declaredEffect === null) return "opaque";
  return defaultRecovery(effect);
}
