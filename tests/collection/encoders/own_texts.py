"""Sentences of our own on three topics, by docno: the letters name the topic."""

OWN_TEXTS = {
    "antenna1": "The gain of a horn antenna grows with the area of its mouth.",
    "antenna2": "Two dipole antennas a quarter wave apart make a beam to one side.",
    "antenna3": "Rain on the cover of a dish antenna weakens the signal it receives.",
    "antenna4": "An aerial on the roof of the van picks up the short wave band.",
    "antenna5": "Measured radiation patterns of slot antennas in a metal plate.",
    "antenna6": "Valve amplifiers feed the transmitting antenna of the station.",
    "valve1": "The cathode of a vacuum valve must be heated before it emits.",
    "valve2": "Noise in triode valves comes from the uneven flow of electrons.",
    "valve3": "A pentode valve amplifies more than a triode of the same size.",
    "valve4": "Gas left in the glass shortens the life of a thermionic valve.",
    "valve5": "Old radio sets hum when the rectifier valve wears out.",
    "valve6": "A circuit that replaces two valves by one double triode.",
    "other1": "The bakery on the corner sells rye bread on Thursdays.",
    "other2": "Snow closed the mountain road for most of the winter.",
    "other3": "She plays the second violin in the town orchestra.",
    "other4": "Bees find their way back to the hive by the sun.",
    "other5": "The recipe asks for three eggs and a little butter.",
    "other6": "Ferries to the island leave every hour in summer.",
}
