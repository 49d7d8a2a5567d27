import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app/app.tsx";
import { applyTheme, storedTheme } from "./browser/theme.ts";

applyTheme(storedTheme());
const root = document.querySelector("#root");
if (root === null) throw new Error("index.html has no #root.");
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
