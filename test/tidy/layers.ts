// The layers of src as data: which folder is in which layer, what other folders may import from it, and the few exceptions,
// each with its reason. The map in README.md and the diagram in ARCHITECTURE.md are written from this table (write.ts).

import type { Import } from './tree.ts'

/** From the bottom up. An import goes down; two folders of one layer do not import each other. Root files are on top. */
export const LAYERS: readonly Readonly<Record<string, string>>[] = [
  { core: 'pure values and tables. Money, currencies, API errors, failure codes, log lines, ids' },
  {
    kit: 'tools without payment knowledge. PostgreSQL, HTTP client, clock, encryption, cache, jobs, row-level security',
  },
  {
    events: 'the outbox, one event for every state change',
    secrets: 'the secrets of the instance',
    cells: 'the register of the databases with the data of merchants',
    consents: "the payer's consent to a saved card",
    'gateway-tokens':
      "access tokens of gateways, shared by all processes: leases, renewal, providers' rations",
  },
  {
    gateways: 'the gateway contract, connectors, routing, circuit breaker. sandbox/ is our own test provider',
    merchants: 'merchants, their settings and profiles',
    customers: 'customers and their saved payment methods',
    ledger: 'double entry, balances, fees, settlement',
    'request-log': "the latest requests with a merchant's API keys, for its developers",
    'webhook-endpoints': "merchants' webhook endpoints and their signing secrets",
  },
  {
    'api-keys': 'API keys: authentication, scopes, rate limits, self-service',
    people: 'who may use the dashboard: accounts, sessions, second factors, roles, invitations',
    payments: 'the payment: states, record, move, attempts, views, lists',
    wallet: "a merchant's balances and statement",
    catalog: 'gateways, routes, currencies and countries that a merchant can use',
    deliveries: 'delivery of events to webhook endpoints, retries with backoff, dead letters, replay',
  },
  { cases: 'situations that a person must resolve: kinds, records, lists' },
  {
    'payment-lists': 'lists of payments and charges, their filters and searches',
    disputes: 'chargebacks, duplicate payments',
    'p2p-accounts': "the merchant's receiving accounts for P2P transfers",
  },
  { outcomes: "decides on and applies a gateway's outcome; status checks and their schedule" },
  {
    checkout: 'checkout payments: initiate, payer actions, phone prompts',
    charges: 'charges of saved methods',
    'gateway-webhooks': 'webhooks from gateways, received at /hooks',
  },
  {
    resolver: 'background: polls unknown outcomes, expires checkouts',
    refunds: 'refunds, also of duplicate payments',
    'returning-payers': 'saved methods that the checkout page offers to a returning payer',
  },
  {
    archive: 'writes finished history to files and deletes it',
    audit:
      'the audit log: who changed what, chained by hashes. Triggers write it, this folder reads and verifies it',
    links: 'payment links and their slots',
    'refund-requests': 'refunds that one person asks for and another one approves',
    'payment-notes': 'notes of people on payments',
    receipts: 'receipts that people send to payers again',
    'saved-views': 'filters of the list of payments that people have saved',
    p2p: "transfers to the merchant's own account, which the merchant confirms",
    reports: 'sums of collections, kept by the background',
    timeline: 'what happened to a payment, in order and in words',
    reconciliation: "compares providers' settlement files with our records",
    'case-resolutions': 'how people resolve cases: accept, return, ask again, mark, write off',
    'provider-refunds': 'finds refunds that were made at the provider and books them; finds disputes',
    'test-clock': 'advances the time of one merchant, for automated tests in staging',
    mcp: 'the MCP server: tools with which agents read and, in two steps, change what their API key allows',
    'sandbox-api': 'pays, disputes and reverses sandbox payments, for automated tests',
  },
  {
    http: 'server, authorization, rate limits, validation, OpenAPI',
    pages: "the payer's pages, in seven languages",
    dashboard:
      "the pages of a merchant's people at /app and of operators at /ops, over the operations of the API",
    'docs-site': 'the documentation at /docs, rendered from the markdown in docs/',
    cli: 'the command line',
    demo: 'a merchant with months of history for staging, written by the services in simulated time',
  },
]

const ROOT_LAYER = LAYERS.length

/** Root files that are low, because the other folders are configured by them. */
const ROOT_FILE_LAYERS: Readonly<Record<string, number>> = {
  'setting-readers.ts': 1.25,
  'settings.ts': 1.5,
  'config.ts': 1.75,
}

interface Rule {
  from: RegExp
  to: RegExp
  reason: string
}

const UPWARD_EXCEPTIONS: readonly Rule[] = [
  {
    from: /^src\/customers\/[\w-]+\.ts$/,
    to: /^src\/gateways\/saved-method\.ts$/,
    reason: 'a type alone: connectors make a saved method, and customers store it',
  },
]

/** Files that no other folder imports. */
const PRIVATE_FILES = /\/(?:[\w-]+-)?(?:queries|routes|jobs)\.ts$/

const PRIVATE_EXCEPTIONS: readonly Rule[] = [
  { from: /./, to: /^src\/(?:core|kit)\//, reason: 'tools for every slice' },
  {
    from: /^src\/(?:[\w-]+\.ts|compose\/)/,
    to: /\/(?:[\w-]+-)?(?:routes|jobs)\.ts$/,
    reason: 'the composition root registers the routes and jobs of every slice',
  },
]

/** What the slices of payments share among themselves; the other folders use at most MAX_PUBLIC_NAMES of `payments`. */
const PAYMENT_SLICES: ReadonlySet<string> = new Set([
  'payments',
  'payment-lists',
  'cases',
  'case-resolutions',
  'disputes',
  'outcomes',
  'checkout',
  'charges',
  'gateway-webhooks',
  'resolver',
  'refunds',
  'refund-requests',
  'payment-notes',
  'receipts',
  'timeline',
  'provider-refunds',
  'returning-payers',
])

/** A slice is a deep module: the folders above it use few of its names. */
export const MAX_PUBLIC_NAMES = 24

/** A slice with more files is several slices. */
export const MAX_SLICE_FILES = 20

const isOurs = (path: string) => path.startsWith('src/')
const isAllowed = (rules: readonly Rule[], { from, to }: Import) =>
  rules.some((rule) => rule.from.test(from) && rule.to.test(to))

export function folderOf(path: string): string | undefined {
  const [, folder, file] = path.split('/')
  return file === undefined ? undefined : folder
}

function layerOf(path: string): number {
  const folder = folderOf(path)
  if (folder === undefined) return ROOT_FILE_LAYERS[path.slice('src/'.length)] ?? ROOT_LAYER
  if (folder === 'compose') return ROOT_LAYER
  return LAYERS.findIndex((layer) => folder in layer)
}

const arrow = ({ from, to }: Import) => `${from} → ${to}`

/** Imports that do not go down. */
export function upwardImports(imports: readonly Import[]): string[] {
  return imports
    .filter(({ from, to }) => isOurs(to) && (folderOf(from) ?? from) !== (folderOf(to) ?? to))
    .filter(({ from, to }) => layerOf(to) >= layerOf(from) && layerOf(from) !== ROOT_LAYER)
    .filter((one) => !isAllowed(UPWARD_EXCEPTIONS, one))
    .map(arrow)
}

/** Imports of a private file from another folder. */
export function privateImports(imports: readonly Import[]): string[] {
  return imports
    .filter(({ from, to }) => isOurs(to) && folderOf(to) !== undefined && folderOf(from) !== folderOf(to))
    .filter(({ to }) => PRIVATE_FILES.test(to))
    .filter((one) => !isAllowed(PRIVATE_EXCEPTIONS, one))
    .map(arrow)
}

/** Slices of which other folders use too many names, with their number. */
export function wideSlices(imports: readonly Import[]): string[] {
  const used = new Map<string, Set<string>>()
  for (const { from, to, names } of imports) {
    const [user, slice] = [folderOf(from), folderOf(to)]
    if (!isOurs(to) || slice === undefined || user === slice || layerOf(to) < 2) continue
    // The root composes everything, so it says nothing about the width of a slice.
    if (layerOf(from) === ROOT_LAYER) continue
    if (slice === 'payments' && PAYMENT_SLICES.has(user ?? '')) continue
    const known = used.get(slice) ?? new Set()
    used.set(slice, new Set([...known, ...names]))
  }
  return [...used]
    .filter(([, names]) => names.size > MAX_PUBLIC_NAMES)
    .map(([slice, names]) => `${slice}: ${names.size}`)
}

/** Folders that are in no layer. */
export function foldersWithoutLayer(paths: readonly string[]): string[] {
  const folders = new Set(paths.filter(isOurs).map(folderOf))
  const known = new Set(['compose', ...LAYERS.flatMap((layer) => Object.keys(layer))])
  return [...folders].filter((folder) => folder !== undefined && !known.has(folder)).map(String)
}

/** The lines of README's map that follow from the layers. */
export function renderMap(width: number): string {
  return LAYERS.flatMap((layer, index) =>
    Object.entries(layer).map(
      ([folder, meaning]) => `${`src/${folder}/`.padEnd(width)}layer ${index + 1}: ${meaning}`,
    ),
  ).join('\n')
}

/** The diagram of ARCHITECTURE.md. */
export function renderDiagram(): string {
  const rows = [...LAYERS.map((layer) => Object.keys(layer).join(' · ')), 'root: main, app, serve, config']
  const nodes = rows.map((text, index) => `  l${index + 1}["${text}"]`).toReversed()
  const chain = rows.map((_, index) => `l${index + 1}`).toReversed()
  return ['```mermaid', 'flowchart TB', ...nodes, `  ${chain.join(' --> ')}`, '```'].join('\n')
}
