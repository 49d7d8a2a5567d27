import { expect, it } from "vitest";
import { readEntered } from "../../../src/cli/chat/chat-command.ts";

it.each([
  ["hello", { kind: "text", text: "hello", steers: false }],
  ["  two\nlines ", { kind: "text", text: "two\nlines", steers: false }],
  ["  ", { kind: "nothing" }],
  ["/steer only blue ones", { kind: "text", text: "only blue ones", steers: true }],
  ["/steer", { kind: "mistake", problem: "/steer needs a text: /steer only of this year" }],
  ["/stop", { kind: "stop" }],
  ["/quit", { kind: "quit" }],
  ["/help", { kind: "help" }],
  ["//etc/hosts", { kind: "text", text: "/etc/hosts", steers: false }],
  ["a /stop inside", { kind: "text", text: "a /stop inside", steers: false }],
])("what is entered as %j is understood", (line, expected) => {
  expect(readEntered(line)).toEqual(expected);
});

it.each(["/etc/hosts", "/stopp", "/Stop", "/"])("%j is no command, and is not sent", (line) => {
  expect(readEntered(line)).toMatchObject({
    kind: "mistake",
    problem: expect.stringContaining(`there is no command ${line}: /help lists them`) as string,
  });
});
