// The mobile-money networks of the served countries, the largest of each country first. Names are as payers know them.
//
// A prefix only suggests the network, because numbers can be ported; the payer can always choose another one. The
// prefixes come from public numbering plans; no network operator has confirmed them. Wallets that any number can have
// (bKash, Wave, OPay, ...) have no prefixes. We list a menu code only where public sources agree on it: a wrong code
// would send the payer to another menu.

export interface Network {
  /** Never change a code: attempts store it, and gateways receive it. */
  code: string
  country: string
  name: string
  /** The first digits after the country's calling code, without the 0 that is dialled inside the country. */
  prefixes: readonly string[]
  /** The menu that a payer can dial to approve or to pay. */
  ussd: string | null
}

interface CountryNetworks {
  callingCode: string
  networks: readonly Network[]
}

type NetworkFacts = readonly [brand: string, name: string, prefixes: string, ussd: string | null]

const TABLE: Record<string, CountryNetworks> = {
  BD: countryNetworks('BD', '880', [
    ['bkash', 'bKash', '', '*247#'],
    ['nagad', 'Nagad', '', '*167#'],
    ['rocket', 'Rocket', '', '*322#'],
  ]),
  BF: countryNetworks('BF', '226', [
    ['orange', 'Orange Money', '05 06 07 54 55 56 57 64 65 66 67 74 75 76 77', '*144#'],
    ['moov', 'Moov Money', '01 02 03 50 51 52 53 60 61 62 63 70 71 72 73', '*555#'],
  ]),
  BI: countryNetworks('BI', '257', [
    ['lumicash', 'Lumicash', '61 62 65 66 67 68 69', '*163#'],
    ['ecocash', 'EcoCash', '71 72 76 79', null],
  ]),
  BJ: countryNetworks('BJ', '229', [
    ['mtn', 'MTN MoMo', '0142 0146 015 0161 0162 0166 0167 0169 0190 0191 0196 0197', null],
    ['moov', 'Moov Money', '0145 0155 0158 0160 0163 0164 0165 0168 0194 0195 0198 0199', '*855#'],
    ['celtiis', 'Celtiis Cash', '0140 0141 0143 0144 0147', null],
  ]),
  BW: countryNetworks('BW', '267', [
    [
      'orange',
      'Orange Money',
      '72 743 744 748 750 751 752 753 757 763 764 765 769 773 774 775 779 78',
      '*145#',
    ],
    ['myzaka', 'Mascom MyZaka', '71 74 754 755 756 759 760 761 762 766 767 770 771 776 777 778', '*167#'],
    ['smega', 'BTC Smega', '73 749 758 768 772', '*173#'],
  ]),
  CD: countryNetworks('CD', '243', [
    ['mpesa', 'M-Pesa', '81 82 83 86', '*1122#'],
    ['airtel', 'Airtel Money', '97 98 99', '*501#'],
    ['orange', 'Orange Money', '80 84 85 89', '*144#'],
    ['afrimoney', 'Afrimoney', '90 91', null],
  ]),
  CF: countryNetworks('CF', '236', [['orange', 'Orange Money', '72', null]]),
  CG: countryNetworks('CG', '242', [
    ['mtn', 'MTN MoMo', '06', '*105#'],
    ['airtel', 'Airtel Money', '04 05', '*128#'],
  ]),
  CI: countryNetworks('CI', '225', [
    ['orange', 'Orange Money', '07', '#144#'],
    ['wave', 'Wave', '', null],
    ['mtn', 'MTN MoMo', '05', '*133#'],
    ['moov', 'Moov Money', '01', '*155#'],
  ]),
  CM: countryNetworks('CM', '237', [
    ['mtn', 'MTN MoMo', '650 651 652 653 654 67 680 681 682 683', '*126#'],
    ['orange', 'Orange Money', '655 656 657 658 659 686 687 688 689 69', '#150#'],
  ]),
  EG: countryNetworks('EG', '20', [
    ['vodafone', 'Vodafone Cash', '10', '*9#'],
    ['etisalat', 'e& money (Etisalat Cash)', '11', '*777#'],
    ['orange', 'Orange Cash', '12', '#7115#'],
    ['we', 'WE Pay', '15', null],
  ]),
  ET: countryNetworks('ET', '251', [
    ['telebirr', 'telebirr', '9', '*127#'],
    ['cbebirr', 'CBE Birr', '', '*847#'],
    ['mpesa', 'M-Pesa', '7', '*733#'],
  ]),
  GA: countryNetworks('GA', '241', [
    ['airtel', 'Airtel Money', '04 07 74 76 77', null],
    ['moov', 'Moov Money', '02 05 06 60 62 65 66', null],
  ]),
  GH: countryNetworks('GH', '233', [
    ['mtn', 'MTN MoMo', '24 25 53 54 55 59', '*170#'],
    ['telecel', 'Telecel Cash (Vodafone)', '20 50', '*110#'],
    ['at', 'AT Money (AirtelTigo)', '26 27 56 57', null],
  ]),
  GM: countryNetworks('GM', '220', [
    ['wave', 'Wave', '', null],
    ['afrimoney', 'Afrimoney', '2 7', null],
    ['qmoney', 'QMoney', '3 5', null],
  ]),
  GW: countryNetworks('GW', '245', [
    ['orange', 'Orange Money', '95', null],
    ['telecel', 'Telecel Money (MTN MoMo)', '96', null],
  ]),
  KE: countryNetworks('KE', '254', [
    ['mpesa', 'M-Pesa', '70 71 72 740 741 742 743 745 746 748 757 758 759 768 769 79 11', '*334#'],
    ['airtel', 'Airtel Money', '73 750 751 752 753 754 755 756 762 78 10', '*334#'],
    ['equitel', 'Equitel', '763 764 765 766', null],
    ['tkash', 'T-Kash', '77', null],
  ]),
  LR: countryNetworks('LR', '231', [
    ['orange', 'Orange Money', '77', '*144#'],
    ['mtn', 'Lonestar MTN MoMo', '55 88', '*156#'],
  ]),
  LS: countryNetworks('LS', '266', [
    ['mpesa', 'M-Pesa', '5', null],
    ['ecocash', 'EcoCash', '6', null],
  ]),
  ML: countryNetworks('ML', '223', [
    ['orange', 'Orange Money', '7 82 83 84 90 91 92 93 94', '#144#'],
    ['moov', 'Moov Money', '6 89 95 96 97 98 99', null],
    ['wave', 'Wave', '', null],
  ]),
  MU: countryNetworks('MU', '230', [
    ['juice', 'MCB Juice', '', null],
    ['myt', 'my.t money', '', null],
  ]),
  MW: countryNetworks('MW', '265', [
    ['airtel', 'Airtel Money', '98 99', '*211#'],
    ['mpamba', 'TNM Mpamba', '88 89', '*444#'],
  ]),
  MZ: countryNetworks('MZ', '258', [
    ['mpesa', 'M-Pesa', '84 85', '*150#'],
    ['emola', 'e-Mola', '86 87', '*898#'],
    ['mkesh', 'mKesh', '82 83', null],
  ]),
  NE: countryNetworks('NE', '227', [
    ['airtel', 'Airtel Money', '86 87 88 89 96 97 98 99', null],
    ['moov', 'Moov Money (Flooz)', '84 85 94 95', null],
    ['zamani', 'Zamani Cash (Orange)', '80 81 90 91 92', null],
  ]),
  NG: countryNetworks('NG', '234', [
    ['opay', 'OPay', '', '*955#'],
    ['palmpay', 'PalmPay', '', null],
    ['mtn', 'MTN MoMo', '7025 7026 703 704 706 707 803 806 810 813 814 816 903 906 913 916', '*671#'],
    ['airtel', 'Airtel SmartCash', '701 708 802 808 812 901 902 904 907 911 912', null],
  ]),
  RW: countryNetworks('RW', '250', [
    ['mtn', 'MTN MoMo', '78 79', '*182#'],
    ['airtel', 'Airtel Money', '72 73', null],
  ]),
  SL: countryNetworks('SL', '232', [
    ['orange', 'Orange Money', '72 73 74 75 76 78 79', null],
    ['afrimoney', 'Afrimoney', '30 33 77 80 88 90 99', null],
  ]),
  SN: countryNetworks('SN', '221', [
    ['wave', 'Wave', '', null],
    ['orange', 'Orange Money', '77 78', '#144#'],
    ['free', 'Mixx by Yas (Free Money)', '76', null],
  ]),
  SS: countryNetworks('SS', '211', [
    ['mgurush', 'm-Gurush', '91', null],
    ['mtn', 'MTN MoMo', '92 99', null],
  ]),
  TD: countryNetworks('TD', '235', [
    ['airtel', 'Airtel Money', '6', null],
    ['moov', 'Moov Money', '9', null],
  ]),
  TG: countryNetworks('TG', '228', [
    ['tmoney', 'Mixx by Yas (TMoney)', '70 71 72 73 90 91 92 93', '*145#'],
    ['flooz', 'Moov Money (Flooz)', '78 79 96 97 98 99', '*155#'],
  ]),
  TZ: countryNetworks('TZ', '255', [
    ['mpesa', 'M-Pesa', '74 75 76', '*150*00#'],
    ['mixx', 'Mixx by Yas (Tigo Pesa)', '65 67 71 77', '*150*01#'],
    ['airtel', 'Airtel Money', '68 69 78', '*150*60#'],
    ['halopesa', 'HaloPesa', '61 62', '*150*88#'],
  ]),
  UG: countryNetworks('UG', '256', [
    ['mtn', 'MTN MoMo', '76 77 78', '*165#'],
    ['airtel', 'Airtel Money', '70 74 75', '*185#'],
  ]),
  ZA: countryNetworks('ZA', '27', [['mtn', 'MTN MoMo', '', null]]),
  ZM: countryNetworks('ZM', '260', [
    ['airtel', 'Airtel Money', '77 97', null],
    ['mtn', 'MTN MoMo', '76 96', null],
    ['zamtel', 'Zamtel Money', '75 95', null],
  ]),
  ZW: countryNetworks('ZW', '263', [
    ['ecocash', 'EcoCash', '77 78', '*151#'],
    ['onemoney', 'OneMoney', '71', '*111#'],
  ]),
}

function countryNetworks(
  country: string,
  callingCode: string,
  facts: readonly NetworkFacts[],
): CountryNetworks {
  const networks = facts.map(([brand, name, prefixes, ussd]) => ({
    code: `${brand}_${country.toLowerCase()}`,
    country,
    name,
    prefixes: prefixes.split(' ').filter((prefix) => prefix !== ''),
    ussd,
  }))
  return { callingCode, networks }
}

export const NETWORKS: readonly Network[] = Object.values(TABLE).flatMap(({ networks }) => networks)

const BY_CODE: ReadonlyMap<string, Network> = new Map(NETWORKS.map((network) => [network.code, network]))

/** The networks of a country, the largest first. Empty where mobile money is not used. */
export function networksOf(country: string | null): readonly Network[] {
  return country !== null && Object.hasOwn(TABLE, country) ? (TABLE[country]?.networks ?? []) : []
}

export function findNetwork(code: string): Network | undefined {
  return BY_CODE.get(code)
}

/** The network with the longest matching prefix. Numbers can be ported, so the payer may choose another network. */
export function guessNetwork(e164: string, country: string): Network | undefined {
  const start = Object.hasOwn(TABLE, country) ? `+${TABLE[country]?.callingCode}` : undefined
  if (start === undefined || !e164.startsWith(start)) return undefined
  const number = e164.slice(start.length)
  const length = (network: Network) =>
    Math.max(
      0,
      ...network.prefixes.filter((prefix) => number.startsWith(prefix)).map((prefix) => prefix.length),
    )
  const guesses = networksOf(country).filter((network) => length(network) > 0)
  return guesses.toSorted((left, right) => length(right) - length(left))[0]
}
