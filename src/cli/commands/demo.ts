// cowry demo: fills a staging instance with a merchant and months of its history.

import { type Command, InvalidArgumentError } from 'commander'
import { listLocationSettings } from '../../config.ts'
import { type JsonOption, parseInteger, withJson } from '../options.ts'
import type { FilledDemo, Shell } from '../shell.ts'
import { colorize, quoteWord, renderRecord } from '../terminal.ts'

interface Options extends JsonOption {
  seed: number
  months: number
  payments: number
  again?: boolean
}

// Webhooks and cases need some weeks; more than a year and more payments take long and show nothing new.
const MAX_MONTHS = 12
const MAX_PAYMENTS = 100_000

export function addDemoCommand(program: Command, shell: Shell): void {
  withJson(program.command('demo'))
    .description('Fill staging with a merchant and months of its payments, refunds, disputes and cases.')
    .option('--seed <number>', 'another number makes another history', parseInteger, 1)
    .option('--months <count>', 'how far back the history goes', upTo(MAX_MONTHS), 3)
    .option('--payments <count>', 'how many payments it has', upTo(MAX_PAYMENTS), 3_000)
    .option('--again', 'fill another merchant, although there is one')
    .action((options: Options) => fill(shell, options))
}

function upTo(maximum: number): (text: string) => number {
  return (text) => {
    const count = parseInteger(text)
    if (count >= 1 && count <= maximum) return count
    throw new InvalidArgumentError(`It must be a whole number from 1 to ${maximum}.`)
  }
}

async function fill(shell: Shell, { json, again = false, ...size }: Options): Promise<void> {
  const { terminal, clock } = shell
  const startedAt = clock.now().getTime()
  const onProgress = json ? () => undefined : progressIn(shell)
  const filled = await shell.entryPoints.fillDemo(shell.env, { ...size, again, onProgress })
  const seconds = Math.round((clock.now().getTime() - startedAt) / 1_000)
  const message = filled.isNew
    ? `${filled.name} has ${size.payments} payments of ${size.months} months, written in ${seconds} s.`
    : `${filled.name} was filled before, and nothing was changed. Add --again to fill another merchant.`
  const { isNew, merchantId, name, apiKey, url, people } = filled
  const data = { isNew, merchant: { uuid: merchantId, name }, apiKey, url, people }
  shell.show({ status: 'success', message, data }, { json }, () =>
    [
      `${colorize(terminal, 'green', message)}\n`,
      renderRecord({ merchant: merchantId, key: apiKey, service: url }),
      'Start the service, if it does not run:',
      `  ${startCommand(shell)}`,
      '',
      'Then look at it:',
      ...LOOKS.map((path) => curlOf(filled, path)),
      '',
      'Sign in to the dashboard as one of its people. Each link works once, within a day; run this again for new ones.',
      ...people.map(({ role, name: person, link }) => `  ${role.padEnd(9)}  ${person.padEnd(15)}  ${link}`),
      '',
    ].join('\n'),
  )
}

/** With the settings that this command was given, so that the service has the demo, at the address below. */
function startCommand({ env }: Shell): string {
  // The service refuses a … and says which form the value has.
  const settings = listLocationSettings(env).map(
    ({ name, value }) => `${name}=${value === null ? '…' : quoteWord(value)}`,
  )
  return [...settings, 'npm start'].join(' ')
}

const LOOKS = [
  '/api/v1/checkout/payments?limit=5',
  '/api/v1/reports/collections?groupBy=currency',
  '/api/v1/wallet/transactions?currency=KES&limit=10',
]

const curlOf = ({ url, apiKey }: FilledDemo, path: string) =>
  `  curl -sS '${url}${path}' -H 'x-api-key: ${apiKey}'`

/** One line for each tenth of the history, in the error stream: the output is the result. */
function progressIn({ terminal }: Shell): (share: number) => void {
  let shown = 0
  return (share) => {
    const tenth = Math.floor(share * 10)
    if (tenth <= shown) return
    shown = tenth
    terminal.err(`${tenth * 10} % of the history is written\n`)
  }
}
