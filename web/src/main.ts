import { mount } from "svelte";
import App from "./App.svelte";
import "./app.css";
import { live } from "./lib/live.svelte";
import { takeLinks } from "./lib/router.svelte";
import { session } from "./lib/session.svelte";
import { i18n, preferred } from "./lib/i18n";

takeLinks();
const language = i18n.load(preferred());
live.open();
await Promise.all([language, session.load().catch(() => null)]);
mount(App, { target: document.getElementById("app")! });
