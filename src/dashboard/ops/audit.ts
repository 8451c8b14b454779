// The audit log of all merchants and operators: search, export, and the verification of its hashes.

import type { Static } from 'typebox'
import type { OperatorAuditRecord, VerificationRecord } from '../../audit/schema.ts'
import { type Html, html } from '../../kit/http/html.ts'
import { facts, notice, written } from '../frame/components.ts'
import { listScreens } from '../frame/list-screen.ts'
import type { AreaRequest, Screen } from '../frame/screen.ts'
import { dataOf } from './data.ts'
import { MERCHANTS_PATH } from './merchants.ts'

type Verification = Static<typeof VerificationRecord>

const VERIFY_PATH = '/ops/audit/verify'

export const auditScreens: Screen<AreaRequest>[] = [
  ...listScreens<OperatorAuditRecord, AreaRequest>({
    path: '/audit',
    title: 'opsAuditTitle',
    list: 'audit.list',
    exports: 'audit.export',
    rows: 25,
    filters: [
      { name: 'actor', label: 'opsActor' },
      { name: 'object', label: 'opsObject' },
      { name: 'operation', label: 'opsOperation' },
      { name: 'merchant', label: 'opsMerchantId' },
      { name: 'requestId', label: 'opsRequestId' },
      { name: 'address', label: 'opsAddress' },
      { name: 'createdFrom', label: 'from', type: 'date' },
      { name: 'createdTo', label: 'to', type: 'date' },
    ],
    columns: (texts) => [
      {
        label: texts.t('opsOperation'),
        isTitle: true,
        cell: ({ operation, changes }) => html`<code>${operation}</code>${changesOf(changes)}`,
      },
      {
        label: texts.t('opsActor'),
        cell: ({ actor, address }) =>
          html`${actor.role ?? texts.word('actor', actor.type)}<span class="sub"><code>${actor.id}</code> ${address}</span>`,
      },
      {
        label: texts.t('opsObject'),
        cell: ({ object }) => html`${object.type}<span class="sub"><code>${object.id}</code></span>`,
      },
      {
        label: texts.t('opsMerchant'),
        cell: ({ merchant }) =>
          merchant && html`<a href="${MERCHANTS_PATH}/${merchant}"><code>${merchant.slice(0, 8)}</code></a>`,
      },
      { label: texts.t('opsTime'), cell: ({ createdAt }) => texts.time(createdAt) },
    ],
    emptyTitle: 'opsNoAuditTitle',
    emptyText: 'opsNoAuditText',
    actions: ({ texts: { t } }) => html`<a class="button plain" href="${VERIFY_PATH}">${t('opsVerify')}</a>`,
  }),
  { method: 'GET', path: '/audit/verify', needs: ['audit.verify'], handle: verify },
]

function changesOf(changes: OperatorAuditRecord['changes']): Html {
  return html`<details><summary>${changes.length}</summary><pre>${written(JSON.stringify(changes, null, 1))}</pre></details>`
}

async function verify(request: AreaRequest) {
  const { texts } = request
  const { t } = texts
  const found = await dataOf<Verification>(request, 'audit.verify')
  const title = t('opsVerifyTitle')
  const verdict = found.intact
    ? notice('good', html`<p>${t('opsAuditIntact')}</p>`)
    : notice('bad', html`<p>${t('opsAuditBroken', { count: found.violations })}</p>`)
  const body = html`<div class="head"><h1>${title}</h1></div>${verdict}<section class="card">${facts([
    [t('opsChains'), texts.number(found.chains)],
    [t('opsEntries'), texts.number(found.entries)],
    ...found.firstViolations.map(({ chain, number }) => [chain, texts.number(number)] as const),
    [t('opsDigest'), html`<code>${found.digest}</code>`],
  ])}<p class="hint">${t('opsDigestText')}</p></section>`
  return { title, body }
}
