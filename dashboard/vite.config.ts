import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig(({ command }) => {
  // Whatever the shell or a test runner says: a build with React's checks for developers would be twice as large.
  if (command === "build") process.env.NODE_ENV = "production";
  return {
    root: import.meta.dirname,
    plugins: [react(), tailwindcss()],
    build: {
      outDir: "dist",
      emptyOutDir: true,
      // The first browsers with `light-dark()` and popovers: older ones would get twice the CSS, and no dialogs.
      target: ["chrome123", "firefox125", "safari17.5"],
      // The policy of the server allows no inline code, and no address of data but those of images.
      modulePreload: { polyfill: false },
      assetsInlineLimit: 0,
      reportCompressedSize: false,
    },
    // `npm run dashboard:dev`: the pages reload themselves, and ask the API of a server that runs beside.
    server: { proxy: { "/v1": { target: process.env.PAWL_API ?? "http://127.0.0.1:4747" } } },
  };
});
