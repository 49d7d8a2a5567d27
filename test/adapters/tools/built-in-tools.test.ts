import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  BUILT_IN_TOOLS,
  type BuiltInToolName,
  builtInToolSettings,
  builtInTools,
  httpRequest,
  notify,
  sendMail,
} from "../../../src/adapters/tools/index.ts";
import { agent, ConfigurationError, type Json, secret } from "../../../src/index.ts";
import { scriptedModel } from "../../../src/testing/index.ts";
import { callTools } from "./tool-fixture.ts";

const MAIL = { url: "smtp://127.0.0.1", from: "a@example.com" };
const HOOK = { url: "https://example.com/hook" };
const isName = (name: string): name is BuiltInToolName => name in BUILT_IN_TOOLS;

describe("the built-in tools", () => {
  it("need no settings, except for those with required ones", () => {
    const without = Object.keys(builtInTools());
    const all = Object.keys(builtInTools({ send_mail: MAIL, notify: HOOK }));
    expect(all.toSorted()).toEqual(Object.keys(BUILT_IN_TOOLS).toSorted());
    const needy = all.filter((name) => isName(name) && BUILT_IN_TOOLS[name].needs.length > 0);
    expect(all.filter((name) => !without.includes(name))).toEqual(needy);
    expect(Object.keys(builtInToolSettings).toSorted()).toEqual(all.toSorted());
  });

  it("have their documented names, effects and recovery classes", () => {
    const tools = Object.entries(builtInTools({ send_mail: MAIL, notify: HOOK }));
    expect(tools.map(([key, { name }]) => [key, name])).toEqual(tools.map(([key]) => [key, key]));
    expect(
      Object.fromEntries(tools.map(([key, { effect, recovery }]) => [key, `${effect} ${recovery}`])),
    ).toEqual({
      read_file: "read_only repeat",
      write_file: "local repeat",
      list_files: "read_only repeat",
      search_files: "read_only repeat",
      fetch_page: "read_only repeat",
      http_request: "external opaque",
      render_pdf: "local repeat",
      ask_human: "read_only null",
      send_mail: "external opaque",
      notify: "external opaque",
    });
  });

  it("describe themselves and their arguments", async () => {
    const tools = Object.values(builtInTools({ send_mail: MAIL, notify: HOOK }));
    const undescribed: (string | null)[] = [];
    for (const { name, description, input } of tools) {
      const { properties = {} } = (await input.jsonSchema()) as { properties?: { [key: string]: Json } };
      const hasDescription = Object.values(properties).some((property) =>
        JSON.stringify(property).includes('"description"'),
      );
      if (description.length < 20 || !hasDescription) undescribed.push(name);
    }
    expect(tools).toHaveLength(10);
    expect(undescribed).toEqual([]);
  });

  it("can all be given to one agent", () => {
    const tools = builtInTools({ send_mail: MAIL, notify: HOOK });
    const made = agent({ name: "a", model: scriptedModel([]), instructions: "Work.", tools });
    expect(made).toBeDefined();
  });

  it("ask a person and wait", async () => {
    const { ask_human } = builtInTools();
    const { status, store } = await callTools({ ask_human }, [[["ask_human", { question: "Send it?" }]]]);
    expect(status).toBe("waiting");
    expect(await store.listWaits("r-1")).toMatchObject([{ kind: "question" }]);
  });
});

describe("settings", () => {
  it.each([
    [() => sendMail({ from: "a@b.example" }), "send_mail: give either url or host"],
    [
      () => sendMail({ ...MAIL, url: "https://example.com" }),
      "send_mail.url: use smtp://user:password@host:587",
    ],
    [() => sendMail({ ...MAIL, url: "smtp://" }), "send_mail.url: use smtp://"],
    [() => sendMail({ ...MAIL, url: "smtp://u:%zz@h" }), "its url cannot be read"],
    [() => sendMail({ ...MAIL, host: "h" }), "send_mail: give either url or host"],
    [
      () => sendMail({ ...MAIL, port: 25 }),
      "send_mail: url already contains port, secure, user and password",
    ],
    [
      () => sendMail({ host: "h", user: "u", from: "a@b.example" }),
      "send_mail: give user and password, or neither",
    ],
    [() => sendMail({ ...MAIL, from: "nobody" }), "send_mail.from: give an address"],
    [() => sendMail({ ...MAIL, from: "a@b.example\r\nBcc: x@y.example" }), "send_mail.from: give an address"],
    [() => sendMail({ ...MAIL, pass: "x" } as never), 'send_mail has no "pass": did you mean password?'],
    [() => notify({ url: "ftp://example.com" }), "notify.url: Invalid URL"],
    [() => notify({} as never), "notify.url is missing"],
    [
      () => httpRequest({ idempotencyHeader: "not a header" }),
      "http_request.idempotencyHeader: give the name",
    ],
    [() => httpRequest({ credentials: { "example.com": {} } }), "http_request.credentials.example.com: "],
  ])("that are invalid are refused when the tool is made: %#", (make, why) => {
    expect(make).toThrow(ConfigurationError);
    expect(make).toThrow(why);
  });

  it("may contain secrets, which no error about them shows", () => {
    expect(sendMail({ ...MAIL, url: secret("smtp://user:hidden-password@127.0.0.1") }).name).toBe(
      "send_mail",
    );
    const make = () => sendMail({ ...MAIL, url: secret("https://user:hidden-password@example.com") });
    expect(make).toThrow(ConfigurationError);
    expect(make).not.toThrow("hidden-password");
  });

  it("have a JSON Schema each, for editors", () => {
    const schemas = Object.values(builtInToolSettings).map((schema) =>
      z.toJSONSchema(schema, { io: "input" }),
    );
    expect(schemas).toHaveLength(10);
    for (const schema of schemas)
      expect(schema).toMatchObject({ type: "object", additionalProperties: false });
  });
});
