// The table of gateways in the README, and how far each connector was compared with its provider.

import { join } from 'node:path'
import { GATEWAYS } from '../../../src/compose/gateways.ts'
import type { GatewayDefinition } from '../../../src/gateways/definition.ts'
import { ROOT } from '../../tidy/tree.ts'
import { SOURCES } from '../schemas/sources.ts'
import { LIVE_FOLDER, readRuns, wasSeenLive } from './transcript.ts'

type Check = 'specified' | 'schema-checked' | 'live'

const MOST_SHOWN = 12

export function renderGateways(): string {
  const rows = GATEWAYS.map((definition) => {
    const cells = [definition.title, currenciesOf(definition), channelsOf(definition)]
    return `| ${[...cells, checksOf(definition.name).join(', ')].join(' | ')} |\n`
  })
  return ['| Gateway | Currencies | Channels | Compared |\n', '| --- | --- | --- | --- |\n', ...rows].join('')
}

function currenciesOf({ rails }: GatewayDefinition): string {
  const all = [...new Set(rails.map(({ currency }) => currency))].toSorted()
  const shown = all.slice(0, MOST_SHOWN).join(' ')
  return all.length > MOST_SHOWN ? `${shown} and ${all.length - MOST_SHOWN} more` : shown
}

function channelsOf({ rails }: GatewayDefinition): string {
  return [...new Set(rails.flatMap(({ channels }) => channels))].join(', ').replaceAll('_', ' ')
}

export function checksOf(gateway: string, folder = join(ROOT, LIVE_FOLDER)): Check[] {
  const isDescribed = Object.values(SOURCES).some(({ provider }) => provider === gateway)
  // A run with an account that has a label counts for its gateway.
  const isOf = (name: string) => name === gateway || name.startsWith(`${gateway}_`)
  const isLive = readRuns(folder).some((run) => isOf(run.gateway) && wasSeenLive(run))
  return [
    'specified',
    ...(isDescribed ? ['schema-checked' as const] : []),
    ...(isLive ? ['live' as const] : []),
  ]
}
