// The pages of the documentation site, in the order of its menu. Each is a markdown file of the repository. A new guide is
// one row here.

export interface DocsPage {
  /** Its address is /docs/<slug>, and /docs/<slug>.md for the markdown. */
  slug: string
  title: string
  /** One sentence for the home page, the search and llms.txt. */
  summary: string
  /** From the root of the repository. */
  file: string
}

interface PageGroup {
  title: string
  pages: readonly DocsPage[]
}

export const PAGE_GROUPS: readonly PageGroup[] = [
  {
    title: 'Get started',
    pages: [
      {
        slug: 'quickstart',
        title: 'Quickstart',
        summary: 'From the address and a key to a verified webhook in your own program, in seven steps.',
        file: 'docs/guides/quickstart.md',
      },
      {
        slug: 'accept-a-payment',
        title: 'Accept a payment',
        summary: 'Initiate, send the payer to the page, verify after the return, and receive the webhook.',
        file: 'docs/guides/accept-a-payment.md',
      },
      {
        slug: 'payment-states',
        title: 'What each state means',
        summary: 'What to do in each state of a payment, and why one failed.',
        file: 'docs/guides/states.md',
      },
      {
        slug: 'webhooks',
        title: 'Webhooks',
        summary: 'Receive signed events in your own program, and test it on your machine.',
        file: 'docs/guides/webhooks.md',
      },
      {
        slug: 'handling-errors',
        title: 'Handling errors',
        summary: 'The form of errors, what to do for each status, and typical mistakes.',
        file: 'docs/guides/errors.md',
      },
      {
        slug: 'idempotency',
        title: 'Idempotency and retries',
        summary: 'What to do after a timeout, so that no payer is charged twice.',
        file: 'docs/guides/idempotency.md',
      },
      {
        slug: 'lists-and-limits',
        title: 'Lists and rate limits',
        summary: 'Read all pages of a list, and stay below the limits.',
        file: 'docs/guides/lists-and-limits.md',
      },
      {
        slug: 'testing',
        title: 'Testing',
        summary: 'Test instruments, the test clock, and how to pay sandbox payments by API.',
        file: 'docs/guides/testing.md',
      },
      {
        slug: 'go-live',
        title: 'Go-live checklist',
        summary: 'What to check before the first real payment.',
        file: 'docs/guides/go-live.md',
      },
    ],
  },
  {
    title: 'Guides',
    pages: [
      {
        slug: 'checkout',
        title: 'Checkout page',
        summary: 'What payers see, in which languages, and how you add your name, logo and colour.',
        file: 'docs/checkout.md',
      },
      {
        slug: 'saved-methods',
        title: 'Saved methods',
        summary: 'Save a card with the consent of the payer, and charge it again.',
        file: 'docs/guides/saved-methods.md',
      },
      {
        slug: 'refunds',
        title: 'Refunds and disputes',
        summary: 'Refund a part or everything, and what happens in disputes and cases.',
        file: 'docs/guides/refunds.md',
      },
      {
        slug: 'payment-links',
        title: 'Payment links',
        summary: 'Collect payments with a link or a QR code, without a website.',
        file: 'docs/guides/payment-links.md',
      },
      {
        slug: 'p2p',
        title: 'P2P transfers',
        summary: 'Payers transfer money to your own account, and you confirm it.',
        file: 'docs/guides/p2p.md',
      },
      {
        slug: 'lists-and-reports',
        title: 'Lists and reports',
        summary: 'Find payments, read sums by day, and export your records.',
        file: 'docs/lists-and-reports.md',
      },
      {
        slug: 'cases',
        title: 'Cases',
        summary: 'Situations that a person must resolve, such as a payment with another amount.',
        file: 'docs/cases.md',
      },
      {
        slug: 'data-residency',
        title: 'Data residency and PCI',
        summary: 'What is stored where, which calls leave the country, and what the law asks for.',
        file: 'docs/guides/data-residency.md',
      },
      {
        slug: 'typescript-client',
        title: 'Generate a TypeScript client',
        summary: 'A typed client from the OpenAPI document, for projects that do not use the SDK.',
        file: 'docs/guides/typescript-client.md',
      },
      {
        slug: 'python-client',
        title: 'Generate a Python client',
        summary: 'A typed client in Python, generated from the OpenAPI document.',
        file: 'docs/guides/python-client.md',
      },
      {
        slug: 'php-client',
        title: 'Generate a PHP client',
        summary: 'A typed client in PHP, generated from the OpenAPI document.',
        file: 'docs/guides/php-client.md',
      },
      {
        slug: 'api-changelog',
        title: 'API changelog',
        summary: 'What changes for programs that call the API.',
        file: 'docs/guides/api-changelog.md',
      },
      {
        slug: 'agents',
        title: 'Agents (MCP)',
        summary: 'Let an assistant find and explain payments, and act with your consent.',
        file: 'docs/guides/agents.md',
      },
    ],
  },
  {
    title: 'Reference',
    pages: [
      {
        slug: 'errors',
        title: 'Errors',
        summary: 'Every error code with its cause, its fix and an example.',
        file: 'docs/generated/errors.md',
      },
      {
        slug: 'states',
        title: 'States of payments',
        summary: 'What each status of a payment or charge means, and where it can move.',
        file: 'docs/generated/states.md',
      },
      {
        slug: 'failures',
        title: 'Decline codes',
        summary: 'Why a payment or charge was declined, and whether a retry can help.',
        file: 'docs/generated/failures.md',
      },
      {
        slug: 'events',
        title: 'Events',
        summary: 'Every event type that your webhook endpoint can receive.',
        file: 'docs/generated/events.md',
      },
      {
        slug: 'currencies',
        title: 'Currencies',
        summary: 'The currencies, their decimals and their countries.',
        file: 'docs/generated/currencies.md',
      },
      {
        slug: 'ways-to-pay',
        title: 'Ways to pay',
        summary: 'Which payment methods each currency and country has, and through which gateway.',
        file: 'docs/generated/coverage.md',
      },
      {
        slug: 'networks',
        title: 'Mobile-money networks',
        summary: 'The networks of each country and the menu that payers dial.',
        file: 'docs/generated/networks.md',
      },
      {
        slug: 'instruments',
        title: 'Test instruments',
        summary: 'Cards, wallets and accounts of the sandbox, each with its outcome.',
        file: 'docs/generated/instruments.md',
      },
      {
        slug: 'tools',
        title: 'Tools for agents',
        summary: 'Every tool of the MCP server, with its scopes and arguments.',
        file: 'docs/generated/tools.md',
      },
      {
        slug: 'scopes',
        title: 'Scopes of API keys',
        summary: 'What each scope of an API key allows.',
        file: 'docs/generated/scopes.md',
      },
      {
        slug: 'roles',
        title: 'Roles in the dashboard',
        summary: 'Which role may see and do what.',
        file: 'docs/generated/roles.md',
      },
      {
        slug: 'transfer-states',
        title: 'States of P2P transfers',
        summary: 'What each status of a P2P transfer means, and where it can move.',
        file: 'docs/generated/transfers.md',
      },
      {
        slug: 'case-kinds',
        title: 'Kinds of cases',
        summary: 'Every kind of case, who resolves it, and how.',
        file: 'docs/generated/cases.md',
      },
      {
        slug: 'languages',
        title: 'Languages',
        summary: "The languages of the payer's pages.",
        file: 'docs/generated/languages.md',
      },
      {
        slug: 'changelog',
        title: 'Changelog',
        summary: 'What changed in each version.',
        file: 'CHANGELOG.md',
      },
    ],
  },
  {
    title: 'Operating Cowry',
    pages: [
      {
        slug: 'running-in-production',
        title: 'Running in production',
        summary: 'Settings, secrets, backups, upgrades and what to monitor.',
        file: 'docs/running-in-production.md',
      },
      {
        slug: 'settings',
        title: 'Settings',
        summary: 'Every environment variable, with its default.',
        file: 'docs/generated/config.md',
      },
      {
        slug: 'gateways',
        title: 'Gateways',
        summary: 'The gateways: credentials, what each collects, and its limits.',
        file: 'docs/gateways.md',
      },
      {
        slug: 'routing',
        title: 'Routing',
        summary: 'How Cowry chooses the gateway of a payment.',
        file: 'docs/routing.md',
      },
      {
        slug: 'reconciliation',
        title: 'Reconciliation',
        summary: "Compare the providers' settlement files with the records of Cowry.",
        file: 'docs/reconciliation.md',
      },
      {
        slug: 'high-availability',
        title: 'High availability',
        summary: 'Several processes, and a PostgreSQL with a standby.',
        file: 'docs/high-availability.md',
      },
      {
        slug: 'scaling',
        title: 'Scaling',
        summary: 'Measured rates, and what limits them.',
        file: 'docs/scaling.md',
      },
      {
        slug: 'logs',
        title: 'Log lines',
        summary: 'Every log line, and what to do about it.',
        file: 'docs/generated/logs.md',
      },
      {
        slug: 'metrics',
        title: 'Metrics',
        summary: 'Every Prometheus metric with its labels.',
        file: 'docs/generated/metrics.md',
      },
      {
        slug: 'glossary',
        title: 'Glossary',
        summary: 'Words that the documentation uses in a special sense.',
        file: 'docs/glossary.md',
      },
    ],
  },
]

/** Other files that the pages show or link to, at /docs/files/<name>. */
export const DOCS_FILES: readonly { name: string; file: string; type: string }[] = [
  { name: 'checkout.webp', file: 'docs/screens/checkout.webp', type: 'image/webp' },
  { name: 'bench.svg', file: 'docs/bench.svg', type: 'image/svg+xml' },
  { name: 'grafana-dashboard.json', file: 'docs/grafana-dashboard.json', type: 'application/json' },
]

export const DOCS_PAGES: readonly DocsPage[] = PAGE_GROUPS.flatMap(({ pages }) => pages)

export function findDocsPage(slug: string): DocsPage | undefined {
  return DOCS_PAGES.find((page) => page.slug === slug)
}
