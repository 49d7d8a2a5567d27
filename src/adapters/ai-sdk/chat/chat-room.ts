import { canonicalHash } from "../../../core/canonical-json.ts";
import { ConfigurationError } from "../../../core/errors.ts";
import type { Authenticated, Person } from "../../../core/person.ts";
import { runIdOfKey } from "../../../core/run-key.ts";
import { type Runner, runnerSetup } from "../../../engine/runner/runner.ts";
import type { Store } from "../../../store/store.ts";
import { ChatProblem, notFound } from "./chat-problem.ts";

/** Who makes a request, and whose chats they may see: what `authorize` of a chat handler returns. */
export type ChatUser = {
  /** The name of the person, for the record; or a person that something else has authenticated. */
  readonly by: string | Person;
  /** Whose chats these are: a user's id, a tenant's. Chats of another scope do not exist for this request. */
  readonly scope: string;
};

/** The run of a chat, inside its scope. */
export type ChatRoom = {
  readonly runId: string;
  /** No two runs of a pipeline have it: so a chat id belongs to the scope that has used it first. */
  readonly address: string;
  readonly person: Person;
};

const LONGEST_ID = 200;

/** The pipeline and the store of a chat handler's runner. */
export function chatSetup<O, I>(runner: Runner<O, I>): { readonly pipeline: string; readonly store: Store } {
  const { root, options } = runnerSetup(runner);
  if (options.store === undefined)
    throw new ConfigurationError(
      "The runner of a chat handler needs a store that stays open: new Runner(chat, { store }).",
    );
  return { pipeline: root.name, store: options.store };
}

/** The run id is made of the scope and of the chat's id: a request of another scope cannot even name the run. */
export function roomOf(pipeline: string, user: ChatUser, chatId: string): ChatRoom {
  const { scope, person } = checkedUser(user);
  assertId("chat", chatId);
  // In the path of an address they mean something else.
  if (chatId === "." || chatId === "..")
    throw new ChatProblem(400, `The id of the chat is ${JSON.stringify(chatId)}: use another one.`);
  const key = canonicalHash(["chat", scope, chatId]).toString("hex");
  return { runId: runIdOfKey(pipeline, key), address: `chat:${pipeline}:${chatId}`, person };
}

/** Checks an id that a browser has made. */
export function assertId(what: "chat" | "message", id: string): void {
  if (id === "" || id.length > LONGEST_ID || !id.isWellFormed())
    throw new ChatProblem(400, `The id of the ${what} must be a text of 1 to ${LONGEST_ID} characters.`);
}

/** Checked at run time: a scope that is undefined would be everybody's. */
function checkedUser(user: ChatUser): { readonly scope: string; readonly person: Person } {
  const { by, scope } = user as { readonly by: unknown; readonly scope: unknown };
  if (typeof scope !== "string" || scope.trim() === "")
    throw new ConfigurationError(
      `authorize returned the scope ${JSON.stringify(scope) ?? "undefined"}: return a text such as the user's id.`,
    );
  if (typeof by === "string" && by.trim() !== "") return { scope, person: { authenticated: vouchedFor(by) } };
  if (typeof by === "object" && by !== null) return { scope, person: by };
  throw new ConfigurationError(
    `authorize returned by ${JSON.stringify(by) ?? "undefined"}: return the name of the person who makes the request.`,
  );
}

/** The server's own code has checked who this is. */
function vouchedFor(name: string): Authenticated {
  return { name, by: "chat" };
}

/** True if the chat exists. Throws if it belongs to another scope. */
export async function findRoom(store: Store, { runId, address }: ChatRoom): Promise<boolean> {
  if ((await store.getRun(runId)) !== null) return true;
  if ((await store.findAddress(address)) !== null) throw notFound();
  return false;
}
