// cowry doctor: is the service ready, and is everything true that must always be true of the money?

import type { Command } from 'commander'
import type { OperatorClient } from './operator-client.ts'
import { type JsonOption, withJson } from './options.ts'
import type { Shell } from './shell.ts'
import { CommandError, type Envelope, renderTable } from './terminal.ts'

interface Check {
  name: string
  ok: boolean
  detail: string
}

export function addDoctorCommand(program: Command, shell: Shell): void {
  withJson(program.command('doctor'))
    .description(
      'Check that the service is ready and that its books are right. Ends with 1 if anything is not.',
    )
    .action(async (options: JsonOption) => {
      const { url, checks } = await shell.withOperator(async (operator) => ({
        url: operator.url,
        checks: await examine(operator),
      }))
      const bad = checks.filter(({ ok }) => !ok)
      const message =
        bad.length === 0
          ? `All ${checks.length} checks passed.`
          : `${bad.length} of ${checks.length} checks failed.`
      const table = renderTable(
        ['CHECK', 'RESULT', 'DETAIL'],
        checks.map(({ name, ok, detail }) => [name, ok ? 'ok' : 'FAILED', detail]),
      )
      const data = { url, checks }
      if (bad.length > 0) throw failed(`${url}\n\n${table}\n${message}`, { status: 'error', message, data })
      shell.show({ status: 'success', message, data }, options, () => `${url}\n\n${table}\n${message}\n`)
    })
}

async function examine(operator: OperatorClient): Promise<Check[]> {
  const { ready, reasons } = await operator.isReady()
  const readiness = { name: 'ready', ok: ready, detail: reasons.join(' ') }
  const { data } = await operator.call('GET', '/admin/v1/invariants')
  // A boundary: the operators' API describes its records in src/merchants/schema.ts.
  const invariants = data as { name: string; violations: number }[]
  const { meta } = await operator.call('GET', '/admin/v1/cases?limit=1')
  return [
    readiness,
    casesOf(meta as { total: number }),
    ...invariants.map(({ name, violations }) => ({
      name,
      ok: violations === 0,
      detail: violations === 0 ? '' : `${violations} violations`,
    })),
  ]
}

/** What waits for a person is nothing wrong with the service, but nothing to forget either. */
function casesOf({ total }: { total: number }): Check {
  return { name: 'cases', ok: true, detail: total === 0 ? '' : `${total} need a person: GET /admin/v1/cases` }
}

function failed(words: string, envelope: Envelope): CommandError {
  return new CommandError('checks_failed', words, { ...envelope, error: { code: 'checks_failed' } })
}
