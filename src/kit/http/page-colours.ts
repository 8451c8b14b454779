// The colours of the pages for developers, light and dark, as custom properties. Every text has a contrast ratio of at least
// 7 with its background.

export const PAGE_COLOURS = `
:root { color-scheme: light dark; --ink: #14201d; --dim: #414e4b; --page: #f4f6f5; --card: #fff; --line: #d5dddb;
  --soft: #eef2f1; --accent: #0a5a49; --on-accent: #fff }
@media (prefers-color-scheme: dark) {
  :root { --ink: #edf3f1; --dim: #b3c0bc; --page: #101715; --card: #18211f; --line: #33403c; --soft: #202b28;
    --accent: #5fd0b4; --on-accent: #101715 }
}
`
