import { mount } from "svelte";
import App from "./App.svelte";
import "./app.css";
import { live } from "./lib/live.svelte";
import { takeLinks } from "./lib/router.svelte";
import { session } from "./lib/session.svelte";
import { speech, wanted } from "./lib/words.svelte";

takeLinks();
live.open();
await Promise.all([speech.choose(wanted()), session.load().catch(() => null)]);
mount(App, { target: document.getElementById("app")! });
