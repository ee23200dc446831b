import { svelte } from "@sveltejs/vite-plugin-svelte";
import tailwindcss from "@tailwindcss/vite";
import { defineConfig } from "vite";

// The server that `npm run dev` asks for what is not a file here.
const server = process.env.ROOST_SERVER ?? "http://127.0.0.1:8090";

export default defineConfig({
  plugins: [tailwindcss(), svelte()],
  base: "/",
  build: {
    outDir: process.env.ROOST_PAGES_OUT ?? "../src/roost/web/built",
    emptyOutDir: true,
    assetsInlineLimit: 0, // the content security policy allows files of ours, not data addresses
    modulePreload: { polyfill: false },
    target: "es2022",
    // What three pages and more share comes in one file: a request each for a hundred small ones costs more than it spares.
    rolldownOptions: { output: { advancedChunks: { groups: [{ name: "shared", minShareCount: 3 }] } } },
  },
  server: { proxy: Object.fromEntries(["/api", "/login", "/welcome", "/style"].map((path) => [path, server])) },
});
