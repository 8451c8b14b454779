// The plan of the house as data: which folder stands on which floor, what outsiders may know of a folder, and the few
// exceptions, each with its reason.

import type { Import } from './tree.ts'

/** An import goes down; two folders of one floor do not know each other. The files of the root stand on top. */
export const LAYERS: readonly (readonly string[])[] = [
  ['core'],
  ['kit'],
  ['events'],
  ['gateways', 'merchants', 'customers', 'ledger'],
  ['payments', 'wallet', 'directory', 'webhooks'],
  ['refunds', 'links', 'p2p', 'staging', 'reconciliation'],
  ['http', 'pages', 'cli'],
]

const ROOT_LAYER = LAYERS.length

/** Of the root's files these stand low, because they say what the others are started with. */
const ROOT_FILE_LAYERS: Readonly<Record<string, number>> = { 'settings.ts': 1.5, 'config.ts': 1.75 }

interface Rule {
  from: RegExp
  to: RegExp
  reason: string
}

const UPWARD_EXCEPTIONS: readonly Rule[] = [
  {
    from: /^src\/customers\/methods\.ts$/,
    to: /^src\/gateways\/gateway\.ts$/,
    reason: 'the contract of gateways is words, and says what a saved method is',
  },
  {
    from: /^src\/cli\/commands\/(?:serve|docs)\.ts$/,
    to: /^src\/(?:app|serve|docs)\.ts$/,
    reason: 'a command starts what it is named after; it loads it only then',
  },
]

/** What outsiders may take from a folder; whatever stands in core and kit is for everybody. */
const PUBLIC_API: readonly Rule[] = [
  { from: /./, to: /^src\/(?:core|kit)\//, reason: 'words and tools' },
  { from: /./, to: /^src\/[\w-]+\/service\.ts$/, reason: 'a slice is known by its service' },
  {
    from: /./,
    to: /^src\/gateways\/(?:gateway|definition|registry|measure)\.ts$/,
    reason: 'the contract, the list, and what is measured of them',
  },
  { from: /./, to: /^src\/gateways\/[\w-]+\/index\.ts$/, reason: 'a gateway is known by its index' },
  {
    from: /^src\/[\w-]+\.ts$/,
    to: /^src\/[\w-]+\/(?:routes|jobs|hooks)\.ts$/,
    reason: 'the root registers what a slice offers',
  },
  {
    from: /^src\/[\w-]+\.ts$/,
    to: /^src\/(?:http\/(?:server|openapi\/document|metrics)|cli\/(?:program|server-file))\.ts$/,
    reason: 'the root starts the shells',
  },
  {
    from: /^src\/app\.ts$/,
    to: /^src\/gateways\/sandbox\/(?:server|door|postgres-store)\.ts$/,
    reason: 'the sandbox provider is mounted in our own process by default',
  },
  {
    from: /^src\/cli\/commands\/sandbox\.ts$/,
    to: /^src\/gateways\/sandbox\/serve\.ts$/,
    reason: 'the sandbox provider can also run alone',
  },
]

const isOurs = (path: string) => path.startsWith('src/')
const isAllowed = (rules: readonly Rule[], { from, to }: Import) =>
  rules.some((rule) => rule.from.test(from) && rule.to.test(to))

function folderOf(path: string): string | undefined {
  const [, folder, file] = path.split('/')
  return file === undefined ? undefined : folder
}

function layerOf(path: string): number {
  const folder = folderOf(path)
  if (folder === undefined) return ROOT_FILE_LAYERS[path.slice('src/'.length)] ?? ROOT_LAYER
  return LAYERS.findIndex((folders) => folders.includes(folder))
}

/** Imports that do not go down. */
export function upwardImports(imports: readonly Import[]): string[] {
  return imports
    .filter(({ from, to }) => isOurs(to) && (folderOf(from) ?? from) !== (folderOf(to) ?? to))
    .filter(({ from, to }) => layerOf(to) >= layerOf(from) && layerOf(from) !== ROOT_LAYER)
    .filter((one) => !isAllowed(UPWARD_EXCEPTIONS, one))
    .map(({ from, to }) => `${from} → ${to}`)
}

/** Imports of what a folder keeps to itself. */
export function privateImports(imports: readonly Import[]): string[] {
  return imports
    .filter(({ from, to }) => isOurs(to) && folderOf(to) !== undefined && folderOf(from) !== folderOf(to))
    .filter((one) => !isAllowed(PUBLIC_API, one))
    .map(({ from, to }) => `${from} → ${to}`)
}

/** Folders that stand on no floor. */
export function foldersWithoutLayer(paths: readonly string[]): string[] {
  const folders = new Set(paths.filter(isOurs).map(folderOf))
  return [...folders].filter((folder) => folder !== undefined && !LAYERS.flat().includes(folder)).map(String)
}
