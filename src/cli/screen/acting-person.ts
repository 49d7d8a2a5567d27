import { approvalNeedOf } from "../../core/person.ts";
import type { Person, WaitRecord } from "../../store/store.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { CommandInput, CommandOption } from "../context/command.ts";
import { counted } from "./format.ts";

/** For every command by which a person decides something: who it was is kept. */
export const BY_OPTION: CommandOption = {
  flags: "--by <name>",
  summary: "who decides (your user name unless said); your user is kept as well",
};

/** What the person calls themselves is what they say; whom the operating system knows them to be stands beside it. */
export function personOf(context: CliContext, input: CommandInput): Person {
  const by = input.text("by");
  return { ...userOf(context), ...(by === null ? {} : { by }) };
}

/** Whoever sits there, by the word of the operating system. */
export function userOf({ userName, userId }: Pick<CliContext, "userName" | "userId">): Person {
  if (userName === null && userId === null) return {};
  const name = userName ?? `uid ${userId}`;
  return { authenticated: { name, by: "os", ...(userId === null ? {} : { id: userId }) } };
}

/** Who else has to approve a call, in a sentence. */
export function stillNeeded({ subject, people }: Pick<WaitRecord, "subject" | "people">): string {
  const { people: all, notStarter } = approvalNeedOf(subject);
  const names = people.map(({ name }) => name).join(" and ");
  const but = [
    ...(names === "" ? [] : [`not ${names}`]),
    ...(notStarter ? ["not whoever started the run"] : []),
  ];
  const left = all - people.length;
  const who = `${counted(left, "person", "people")}${names === "" ? "" : " more"}`;
  return `It takes ${who} to let it run${but.length === 0 ? "" : `, and ${but.join(", ")}`}.`;
}

/** Whether it takes more than any one person. */
export function needsMore({ kind, subject }: Pick<WaitRecord, "kind" | "subject">): boolean {
  const { people, notStarter } = approvalNeedOf(subject);
  return kind === "approval" && (people > 1 || notStarter);
}
