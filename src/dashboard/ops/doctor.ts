// The invariants of the money, checked now.

import { html } from '../../kit/http/html.ts'
import { badge, notice, table } from '../frame/components.ts'
import type { AreaRequest, Screen } from '../frame/screen.ts'
import { dataOf } from './data.ts'

interface Invariant {
  name: string
  violations: number
}

export const doctorScreen: Screen<AreaRequest> = {
  method: 'GET',
  path: '/doctor',
  needs: ['invariants.check'],
  handle: async (request) => {
    const { texts } = request
    const { t } = texts
    const invariants = await dataOf<Invariant[]>(request, 'invariants.check')
    const violated = invariants.filter(({ violations }) => violations > 0).length
    const title = t('opsDoctorTitle')
    const body = html`<div class="head"><h1>${title}</h1></div>
${violated === 0 ? notice('good', html`<p>${t('opsIntact')}</p>`) : notice('bad', html`<p>${t('opsViolated', { count: violated })}</p>`)}
${table(
  title,
  [
    { label: t('opsInvariant'), isTitle: true, cell: ({ name }) => html`<code>${name}</code>` },
    {
      label: t('status'),
      isBeside: true,
      cell: ({ violations }) => badge(texts, violations === 0 ? 'ok' : 'violated'),
    },
    { label: t('opsViolations'), isNumber: true, cell: ({ violations }) => texts.number(violations) },
  ],
  invariants,
)}`
    return { title, body }
  },
}
