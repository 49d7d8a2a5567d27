/**
 * An agent that tells a customer that a parcel is on its way, in two versions: with a tool that would send the mail a second
 * time after a crash, and with that tool fixed.
 */
import { z } from "zod";
import { agent, tool } from "../../src/index.ts";
import { scriptedModel } from "../../src/testing/index.ts";

type Mail = { readonly to: string; readonly subject: string };

/** Like a mail service with idempotency keys, which sends a mail once per key. This one sends nothing, so tests reach no customer. */
const mailService = {
  send: (mail: Mail, _options: { readonly key?: string } = {}) => ({ id: `mail to ${mail.to}` }),
};

const definition = {
  description: "Send one email.",
  inputSchema: z.object({ to: z.string(), subject: z.string() }),
  effect: "external",
  recovery: "keyed", // After a crash it may run again: the mail service ignores a second mail with the same key.
} as const;

/** Declared as keyed, but does not pass its key on. */
const sendEmail = tool({
  ...definition,
  execute: (mail) => mailService.send(mail),
});

const sendEmailOnce = tool({
  ...definition,
  execute: (mail, call) => mailService.send(mail, { key: call.idempotencyKey }),
});

/** Any AI SDK model goes here; a crash test replaces it with a script anyway. */
export const model = scriptedModel([
  {
    toolCalls: [{ name: "send_email", input: { to: "ann@example.com", subject: "It is on its way" } }],
  },
  { text: "Ann knows." },
]);

const instructions = "Tell the customer that the parcel is on its way.";

export const mailer = agent({ name: "mailer", model, instructions, tools: { send_email: sendEmail } });

export const fixed = agent({ name: "fixed", model, instructions, tools: { send_email: sendEmailOnce } });
