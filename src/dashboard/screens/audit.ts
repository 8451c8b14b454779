// The audit log: who changed what, when and from where.

import type { Static } from 'typebox'
import { OBJECT_TYPES } from '../../audit/entry.ts'
import type { AuditRecord } from '../../audit/schema.ts'
import { html } from '../../kit/http/html.ts'
import { written } from '../frame/components.ts'
import { listScreens } from '../frame/list-screen.ts'
import { loadNames } from '../frame/names.ts'

type Entry = Static<typeof AuditRecord>

/** Operators with an account are users too. */
const isOfTeam = ({ type, role }: Entry['actor']) => type === 'user' && role !== 'operator'

export const auditScreens = listScreens<Entry>({
  path: '/audit',
  title: 'auditTitle',
  list: 'audit.list',
  exports: 'audit.export',
  rows: 25,
  filters: [
    { name: 'objectType', label: 'auditObject', values: OBJECT_TYPES },
    { name: 'actor', label: 'auditActorId', type: 'search' },
    { name: 'object', label: 'auditObjectId', type: 'search' },
    { name: 'operation', label: 'auditOperation', type: 'search' },
    { name: 'address', label: 'auditAddress', type: 'search' },
    { name: 'createdFrom', label: 'from', type: 'date' },
    { name: 'createdTo', label: 'to', type: 'date' },
  ],
  columns: async (texts, request) => {
    const nameOf = await loadNames(request)
    return [
      {
        label: texts.t('auditOperation'),
        isTitle: true,
        cell: ({ operation, changes }) =>
          html`<code>${operation}</code><details><summary>${texts.t('auditChanges')}</summary><pre>${written(JSON.stringify(changes, null, 1))}</pre></details>`,
      },
      {
        label: texts.t('auditActor'),
        cell: ({ actor }) =>
          html`${isOfTeam(actor) ? nameOf(actor.id) : texts.word('actor', actor.role === 'operator' ? 'operator' : actor.type)}<span class="sub"><code>${actor.id}</code></span>`,
      },
      {
        label: texts.t('auditObject'),
        cell: ({ object }) =>
          html`${object.type.replaceAll('_', ' ')}<span class="sub"><code>${object.id}</code></span>`,
      },
      { label: texts.t('auditAddress'), cell: ({ address }) => html`<bdi dir="ltr">${address}</bdi>` },
      { label: texts.t('created'), cell: ({ createdAt }) => texts.time(createdAt) },
    ]
  },
  emptyTitle: 'noAuditTitle',
  emptyText: 'noAuditText',
})
