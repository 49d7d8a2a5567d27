import { randomBytes } from "node:crypto";
import { decideAccess } from "../../../core/access/access-decision.ts";
import { ACCESS_SECRET_BYTES, accessHash, accessSecret } from "../../../core/access/access-secret.ts";
import { ROLES, readRole } from "../../../core/access/role.ts";
import { scopeText } from "../../../core/access/scope.ts";
import { decisionOf } from "../../../core/person.ts";
import type { AccessRecord, NewAccess, Store } from "../../../store/store.ts";
import type { CliContext } from "../../context/cli-context.ts";
import type { Command, CommandInput, CommandResult } from "../../context/command.ts";
import { durationOption } from "../../context/duration-argument.ts";
import { cleanLine, paragraph } from "../../context/terminal-text.ts";
import { WrongUseError } from "../../context/wrong-use-error.ts";
import { withCreatedStore, withExistingStore } from "../../run/command-store.ts";
import { BY_OPTION, personOf } from "../../screen/acting-person.ts";
import { formatAgo, formatTime } from "../../screen/format.ts";
import { type Column, formatTable } from "../../screen/table.ts";
import { note, SCOPE_OPTIONS, scopeOf } from "./scope-options.ts";

/** How long a login code is valid. */
const CODE_MS = 5 * 60_000;

export const tokenCreate: Command = {
  name: "token create",
  summary: "Create an access token for a server of this store, and print it once",
  arguments: [],
  options: [
    { flags: "--name <name>", summary: "whose it is: their acts are recorded under this name" },
    { flags: "--role <role>", summary: "what they may do (default: viewer)", choices: ROLES },
    ...SCOPE_OPTIONS,
    { flags: "--expires <age>", summary: "how long it is valid: 30d, 12h (default: until it is revoked)" },
    BY_OPTION,
  ],
  example: "pawl token create --name ana --role operator --where tenant=acme --expires 30d",
  execute: (context, input) => {
    const name = input.text("name");
    if (name === null || name.trim() === "")
      throw new WrongUseError("`pawl token create` needs a name: say whose token it is, with --name ana.");
    const expires = input.text("expires");
    const lifeMs = expires === null ? null : durationOption("--expires", expires);
    // A server beyond this machine needs a token before it starts, and so before there is a run.
    return withCreatedStore(context, input, async (store) => {
      const { secret, access } = await granted(context, input, store, { kind: "token", name, lifeMs });
      const text = `This is the token of ${access.name}, ${describe(access)}. It is shown once: keep it where secrets are kept.`;
      return shown(context, text, secret, { token: secret, access });
    });
  },
};

export const tokenLogin: Command = {
  name: "token login",
  summary: "Print a code that a server of this store accepts once, within 5 minutes, to log in",
  arguments: [],
  options: [
    { flags: "--role <role>", summary: "what the session may do (default: viewer)", choices: ROLES },
    ...SCOPE_OPTIONS,
    BY_OPTION,
  ],
  example: "pawl token login --role operator",
  execute: (context, input) =>
    withExistingStore(context, input, async (store) => {
      const { name } = decisionOf(personOf(context, input), 0);
      const request = { kind: "code", name, lifeMs: CODE_MS } as const;
      const { secret, access } = await granted(context, input, store, request);
      const text = `This code logs ${access.name} in once, ${describe(access)}. Enter it on the page of the server.`;
      return shown(context, text, secret, { code: secret, access });
    }),
};

export const tokenList: Command = {
  name: "token ls",
  summary: "List the access tokens and login codes, without their secrets",
  arguments: [],
  options: [],
  example: "pawl token ls",
  execute: (context, input) =>
    withExistingStore(
      context,
      input,
      async (store) => {
        const all = await store.listAccess();
        const none = "There are no tokens: `pawl token create --name ana` makes one.";
        return {
          exitCode: 0,
          document: { access: all },
          text:
            all.length === 0
              ? paragraph(none, context.stdout.columns)
              : formatTable(context, columns(context), all),
        };
      },
      { readOnly: true },
    ),
};

export const tokenRevoke: Command = {
  name: "token revoke",
  summary: "End a token or code, with the sessions and tokens that were made from it",
  arguments: [{ name: "id", summary: "its id, as `pawl token ls` shows it" }],
  options: [BY_OPTION],
  example: "pawl token revoke 1f0c9e77a3b2d4e6",
  execute: (context, input) =>
    withExistingStore(context, input, async (store) => {
      const id = input.argument("id");
      const access = await store.revokeAccess(id);
      const problem = access === null ? "access_not_found" : null;
      await note(context, input, store, { act: "token.revoke", target: id, problem });
      if (access === null)
        throw new WrongUseError(`There is no token ${cleanLine(id)}: \`pawl token ls\` lists them.`);
      const text = `The ${access.kind} of ${access.name} is revoked, with all that was made from it: sessions, tokens, and what was made from those. A server notices within seconds.`;
      return { exitCode: 0, document: { access }, text: paragraph(text, context.stdout.columns) };
    }),
};

/** Stores the hash of a new secret, and notes who made it. */
async function granted(
  context: CliContext,
  input: CommandInput,
  store: Store,
  { kind, name, lifeMs }: Pick<NewAccess, "kind" | "name"> & { readonly lifeMs: number | null },
): Promise<{ readonly secret: string; readonly access: AccessRecord }> {
  const secret = accessSecret(randomBytes(ACCESS_SECRET_BYTES));
  const access = await store.grantAccess({
    kind,
    name,
    role: readRole(input.text("role") ?? "viewer"),
    scope: scopeOf(input),
    hash: accessHash(secret),
    expiresAt: lifeMs === null ? null : context.clock.now() + lifeMs,
    createdBy: decisionOf(personOf(context, input), 0).name,
  });
  const act = kind === "token" ? "token.create" : "token.login";
  await note(context, input, store, { act, target: access.id, problem: null });
  return { secret, access };
}

function describe({ role, scope, expiresAt }: AccessRecord): string {
  const until = expiresAt === null ? "until it is revoked" : `until ${formatTime(expiresAt)}`;
  return `as ${role} of ${scopeText(scope)}, ${until}`;
}

function shown(context: CliContext, text: string, secret: string, document: object): CommandResult {
  return { exitCode: 0, document, text: `${paragraph(text, context.stdout.columns)}${secret}\n` };
}

function columns({ clock }: CliContext): readonly Column<AccessRecord>[] {
  const now = clock.now();
  return [
    { title: "id", value: ({ id }) => id, rank: 0 },
    { title: "name", value: ({ name }) => name, rank: 0 },
    { title: "kind", value: ({ kind }) => kind, rank: 4 },
    { title: "role", value: ({ role }) => role, rank: 1 },
    { title: "for", value: ({ scope }) => scopeText(scope), rank: 2, atLeast: 12 },
    { title: "state", value: (access) => decideAccess(access, now).kind, rank: 1 },
    {
      title: "last used",
      value: ({ lastUsedAt }) => (lastUsedAt === null ? "never" : formatAgo(lastUsedAt, now)),
      rank: 3,
    },
    {
      title: "made",
      value: ({ createdAt, createdBy }) => `${formatAgo(createdAt, now)} by ${createdBy}`,
      rank: 5,
    },
  ];
}
