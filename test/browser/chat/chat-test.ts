import { expect } from "vitest";
import type { Store } from "../../../src/store/store.ts";
import type { TestContext } from "../browser-tests.ts";
import { linesOfMessages, linesOfStore } from "./chat-lines.ts";
import type { ChatProcesses } from "./chat-processes.ts";
import { ChatTab, type Transport } from "./chat-tab.ts";

const WAIT = { timeout: 30_000 };

export type ChatTestOptions = {
  readonly chat: ChatProcesses;
  readonly store: Store;
  readonly browser: TestContext;
  readonly transport: Transport;
  /** Each test is another customer, whose chats no other one sees. */
  readonly customer: string;
};

/** One customer with a chat of their own, and what it must cost: requests to the model, and refunds. */
export class ChatTest {
  readonly chat: ChatProcesses;
  readonly transport: Transport;
  readonly #options: ChatTestOptions;
  readonly #askedBefore: number;
  readonly refundsBefore: number;
  #tab: ChatTab | null = null;

  constructor(options: ChatTestOptions) {
    this.#options = options;
    this.chat = options.chat;
    this.transport = options.transport;
    this.#askedBefore = options.chat.model.asked;
    this.refundsBefore = options.chat.shop.refunds.length;
  }

  /** The page of this customer: a new chat, or the one that another tab shows. */
  async open(beside?: ChatTab): Promise<ChatTab> {
    const { browser, chat, customer, transport } = this.#options;
    await browser.context.addCookies([{ name: "customer", value: customer, url: chat.url }]);
    const tab = await ChatTab.open(browser, beside?.address ?? `${chat.url}/?transport=${transport}`);
    this.#tab ??= tab;
    return tab;
  }

  /** The run of the customer's only chat. */
  async runId(): Promise<string> {
    const runId = await this.#options.store.findAddress(`chat:clerk:${this.#tab?.chatId}`);
    if (runId === null) throw new Error("The chat has no run.");
    return runId;
  }

  /** Resolves once a message with this text is stored. */
  async isStored(text: string): Promise<void> {
    const runId = await this.runId();
    const texts = async () =>
      (await this.#options.store.listMessages(runId)).map(({ body }) => JSON.stringify(body));
    await expect.poll(texts, WAIT).toContainEqual(expect.stringContaining(text));
  }

  /** Resolves once the exchange of a message with this text is over. */
  async isAnswered(text: string): Promise<void> {
    const { store } = this.#options;
    const runId = await this.runId();
    await expect
      .poll(async () => {
        const messages = await store.listMessages(runId);
        const taken = messages.find(({ body }) => JSON.stringify(body).includes(text))?.takenBy;
        const exchanges = await store.listExchanges(runId);
        return exchanges.find(({ exchange }) => exchange === taken?.exchange)?.outcome;
      }, WAIT)
      .toBe("complete");
  }

  /** Kills the worker that answers, while it does. */
  async killWorker(): Promise<void> {
    const run = await this.#options.store.getRun(await this.runId());
    await this.chat.killOwner(run?.owner ?? "");
  }

  /** A server that was killed is there again; and a customer does what the page asks for. */
  async serverReturns(tab: ChatTab): Promise<void> {
    tab.expectLostConnections();
    if (this.transport === "pawl") {
      await this.chat.startAll();
      return;
    }
    await tab.sawStatus("error");
    await this.chat.startAll();
    await tab.press("Reconnect");
  }

  /**
   * The end of every test: what each tab shows, what `useChat` has there, what the server answers and what is stored are
   * the same, and the outside was asked exactly so often.
   */
  async ends(
    tabs: readonly ChatTab[],
    expected: { asked: number; refunds?: number; lines: readonly RegExp[] },
  ) {
    const { chat, store, customer } = this.#options;
    for (const tab of tabs) await tab.settles();
    const runId = await this.runId();
    const stored = await linesOfStore(store, runId);
    expect(stored).toEqual(expected.lines.map((line) => expect.stringMatching(line)));
    const response = await fetch(`${chat.url}/api/chat/${tabs[0]?.chatId}/messages`, {
      headers: { cookie: `customer=${customer}` },
    });
    const { messages } = (await response.json()) as { messages: Parameters<typeof linesOfMessages>[0] };
    expect(linesOfMessages(messages)).toEqual(stored);
    expect(new Set(messages.map(({ id }) => id)).size).toBe(messages.length);
    for (const tab of tabs) {
      expect(await tab.linesOfHook()).toEqual(stored);
      expect(await tab.lines()).toEqual(stored);
    }
    expect((await store.listMessages(runId)).map(({ status }) => status)).not.toContain("returned");
    expect((await store.verify(runId)).problems).toEqual([]);
    expect({
      asked: chat.model.asked - this.#askedBefore,
      refunds: chat.shop.refunds.length - this.refundsBefore,
    }).toEqual({ asked: expected.asked, refunds: expected.refunds ?? 0 });
  }
}
