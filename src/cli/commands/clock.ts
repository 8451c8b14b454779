// cowry clock …: reads and advances the test clock of a merchant in staging.

import { type Command, InvalidArgumentError } from 'commander'
import type { KeyOption } from '../merchant-client.ts'
import { type JsonOption, withJson, withKey } from '../options.ts'
import type { Shell } from '../shell.ts'
import { renderRecord } from '../terminal.ts'
import { requireTestKey } from './listen.ts'

const PATH = '/api/v1/sandbox/clock'

type Options = JsonOption & KeyOption
type Advance = { seconds: number } | { to: string }

export function addClockCommands(program: Command, shell: Shell): void {
  const clock = program
    .command('clock')
    .description('Let time pass for a merchant in staging: docs/guides/testing.md.')
  withKey(withJson(clock.command('show')))
    .description('Show by how much the clock was advanced, and when the next thing happens.')
    .action((options: Options) => call(shell, options, 'GET', PATH))
  withKey(withJson(clock.command('advance')))
    .description('Advance the clock, and do everything that becomes due.')
    .argument(
      '<time>',
      'how far, such as 90s, 15m, 2h, 3d or 1y, or a time such as 2026-03-15T09:00:00Z',
      parseTime,
    )
    .action((time: Advance, options: Options) => call(shell, options, 'POST', `${PATH}/advance`, time))
}

async function call(
  shell: Shell,
  options: Options,
  method: 'GET' | 'POST',
  path: string,
  body?: Advance,
): Promise<void> {
  const response = await shell.withMerchant(
    { ...options, stagingOnly: 'The test clock exists in staging only.' },
    (merchant) => {
      requireTestKey(merchant)
      return merchant.call(method, path, body)
    },
  )
  // A boundary: the merchants' API describes the record in src/test-clock/routes.ts.
  shell.show(response, options, () => renderRecord(response.data as Record<string, unknown>))
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400, y: 31_536_000 }

function parseTime(text: string): Advance {
  const [, count, unit = ''] = /^(\d{1,9})([smhdy])$/.exec(text) ?? []
  if (count !== undefined) return { seconds: Number(count) * (UNIT_SECONDS[unit] ?? 1) }
  if (/^\d{4}-/.test(text) && !Number.isNaN(Date.parse(text))) return { to: new Date(text).toISOString() }
  throw new InvalidArgumentError('Use a duration such as 90s, 15m, 2h, 3d or 1y, or an ISO 8601 time.')
}
