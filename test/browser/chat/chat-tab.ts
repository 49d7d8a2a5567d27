import type { UIMessage } from "ai";
import type { Page } from "playwright-core";
import { expect } from "vitest";
import type { Tab, TestContext } from "../browser-tests.ts";
import { type ChatLines, linesOfMessages, linesOfPage } from "./chat-lines.ts";

export type Transport = "default" | "pawl";

/** The page of the chat in a tab, as a person uses it. */
export class ChatTab {
  readonly page: Page;
  readonly #tab: Tab;

  private constructor(tab: Tab) {
    this.#tab = tab;
    this.page = tab.page;
  }

  static async open(context: TestContext, address: string): Promise<ChatTab> {
    const tab = await context.newTab(new URL(address).origin);
    await tab.page.goto(address);
    return new ChatTab(tab);
  }

  get address(): string {
    return this.page.url();
  }

  /** From its address. */
  get chatId(): string {
    return new URL(this.address).searchParams.get("chat") ?? "";
  }

  /** Types a message, and sends it by this button. */
  async say(text: string, button: "Send" | "Queue" | "Steer" = "Send"): Promise<void> {
    await this.page.getByLabel("Your message").fill(text);
    await this.press(button);
  }

  async press(button: string): Promise<void> {
    await this.page.getByRole("button", { name: button, exact: true }).click();
  }

  /** The person looks at this tab again. */
  async returns(): Promise<void> {
    await this.page.bringToFront();
    await this.page.evaluate("window.dispatchEvent(new Event('focus'))");
  }

  async reload(): Promise<void> {
    await this.page.reload();
  }

  async sees(text: string): Promise<void> {
    await this.page.getByText(text).first().waitFor();
  }

  async sawStatus(status: "ready" | "asking" | "answering" | "error" | "refused"): Promise<void> {
    await this.page.locator(`[data-status="${status}"]`).waitFor();
  }

  /** All is answered. */
  async settles(): Promise<void> {
    await this.sawStatus("ready");
    await expect.poll(() => this.page.locator("[data-waiting]").count(), { timeout: 30_000 }).toBe(0);
    await this.sawStatus("ready");
  }

  lines(): Promise<ChatLines> {
    return linesOfPage(this.page);
  }

  /** What `useChat` has. */
  async linesOfHook(): Promise<ChatLines> {
    return linesOfMessages(await this.page.evaluate<UIMessage[]>("window.chat.messages"));
  }

  /** A killed server is an error in the browser's console. */
  expectLostConnections(): void {
    this.#tab.expectError(/net::ERR_/);
  }
}
