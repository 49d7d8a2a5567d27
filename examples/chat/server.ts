/**
 * The HTTP server: it serves the page, and answers it from the store. It asks no model and calls no tool, so it may die at any
 * time, and there may be several of it.
 */
import { serve } from "@hono/node-server";
import { serveStatic } from "@hono/node-server/serve-static";
import { Hono } from "hono";
import { setCookie } from "hono/cookie";
import { secureHeaders } from "hono/secure-headers";
import { chatHandler } from "../../src/adapters/ai-sdk/index.ts";
import { openStore, Runner } from "../../src/index.ts";
import { clerk } from "./agent.ts";
import { signInPage } from "./sign-in-page.ts";

const { PAWL_STORE = "file:./.pawl/chat.db", PORT = "3000", PAGE = "" } = process.env;
const store = await openStore(PAWL_STORE);
const runner = new Runner(clerk, { store, identity: "required" });

/**
 * Put your own authentication here: this one believes every name. Whatever it is, the customer comes from the request's
 * session and never from its body, and `scope` keeps the chats of one customer from all others.
 */
const CUSTOMER = "customer";
const customerOf = (cookies: string): string | null =>
  new RegExp(`(?:^|; )${CUSTOMER}=([\\w-]{1,40})(?:;|$)`).exec(cookies)?.[1] ?? null;

const chat = chatHandler(runner, {
  authorize: (request) => {
    const customer = customerOf(request.headers.get("cookie") ?? "");
    return customer === null ? null : { by: customer, scope: customer };
  },
});

const app = new Hono();
app.use(
  secureHeaders({
    contentSecurityPolicy: {
      defaultSrc: ["'self'"],
      imgSrc: ["'self'", "data:"],
      frameAncestors: ["'none'"],
    },
  }),
);
app.all("/api/chat", (context) => chat(context.req.raw));
app.all("/api/chat/*", (context) => chat(context.req.raw));

app.post("/sign-in", async (context) => {
  const { name } = await context.req.parseBody();
  const customer = (typeof name === "string" ? name : "")
    .toLowerCase()
    .replaceAll(/[^\w-]/g, "")
    .slice(0, 40);
  if (customer !== "")
    setCookie(context, CUSTOMER, customer, { httpOnly: true, sameSite: "Strict", path: "/" });
  return context.redirect("/", 303);
});
app.get("/", async (context, next) => {
  if (customerOf(context.req.header("cookie") ?? "") === null) return context.html(signInPage);
  context.header("cache-control", "no-store");
  return next();
});
app.get("/*", serveStatic({ root: PAGE }));

const server = serve({ fetch: app.fetch, port: Number(PORT), hostname: "127.0.0.1" }, ({ port }) =>
  console.log(`http://127.0.0.1:${port}`),
);

process.once("SIGTERM", () => {
  // Open streams are cut and not ended: an end without `finish` would look like a complete answer.
  if ("closeAllConnections" in server) server.closeAllConnections();
  server.close();
  void store.close().then(() => process.exit(0));
});
