"""What pyarrow.serialize() of several versions made of (b"image", 7), a pair, and of a list of an
array of b"image" and 7. 0.8 writes as 0.9 does, 0.13 as 0.14, 6.0 as 10.0."""

import ast
import base64
import zlib

# zlib.compress(repr(samples())), as base64.b85encode() writes it.
SAMPLES = """
  c-rlq&2HN`6op^K7z|(!Pz0n*$Mm3!JU}rh23>UFMQuu%1aRHJ%>W)u`tEfcrx6wL(iF*vlFot<6#ek>#}v<ZSoZ(Pm|ZL`*!
  bOOe7CyYjsN&_v>q?_jL}Jo!;!z7^Xfh7bSzHC%hPdoI!eR+<@EUesp0)kX=`|!sJ*NHs#cD=>-<oL>+6@KJy+N&!jc)Ugf11
  4**U>$=`Z8Uc89-I>fAMSz1FYFS#60z9CFQB$eh3EnMty_mitw;d6gyetbD#HpZsnJOI13(G;~v2+h#6pz1%CR<XI(HE-b}nm
  cl)s&n<;J25@B`QjS4omEdHhCg=6T1vk8>wx-4FU!AoBny!m8?<e1XdtZF5xo1{BzyJ4cQ}|@Ex&3}`e`cX7!<nsMr-tB{mT_
  JY<NUNV&Q}_yIIpbR%G0V+1G4TrU>*OsV|}}}k5?KszDWKSzxc!y^<ip!VK+WG-!!hu!`DVOuIj^pE&Y0d^?A$noOwR)8Gr5>
  |EqNA`3q)=J)d<vex$ThhBi++X;Z-4ud9EmQ;fOG3lAc{B==Xl-Ri$zdf(FOQVm7#|3<0DtH5Gkh7|jMQ)2&EWjvJRewvuS<h
  HZuedVY<xuv&Q<k#ZTf&i2c0>~3a06A6itfr*OP53Hdcz<##zg^xjq9&&I#rFHRog)osAm*FALna0Q&XgF906-BI0PG<DA^&?
  N|5;po0QnC2js*EWm^4QnP-$h8iKe;d%46;+p68w;ioLkHKof&lQ2I>sR|yO9SH3L&WkNFrH>T9!Bf=f;SM`$uUY#U}GfC0Rv
  !h8vzNSeFS-(dncj9WC#Q<wM(o$qk-_lUc)D%XXCVfEKsIwsLV|yU&E-{cM1`E<e2S8f24>kpAoB^c8URjeCSOZmS$}BvubI<
  sqKW~fQlUZ@E`WyK?Jn@Nq;*+yin*p)`vULd(%>fwz8B&1^;ylQ}SzyS(45~#K24NYq(`%4|UvNMQKng$#Kng$#Kng$#Kng$#
  Kng$#Kng&LRMHxd0+3>WkYY&dot}YA_5@^Hc3+{>LtkOdlc4SBRxBS{+KOe<=2k3fuv@XHu5ZQiCfEjBu`CnadgZ)cGQfRTKw
  m&#TA(lF!(J7RJy?KlQbspn_rUN}X}WFhS!~$qu+?F!!&Zl_ex9wa4fNamI2OZGho=rz2UQ189l{L4Y{;HEJac&F@XUwdnTyb
  #`KP{;nD?}Z_az$D@naR#GlzE_1%Ft^+zxryTI9TE#<f<SX#>|<Yj@6lFvi0`ylF5DFbFuyi8{+O00;nxWSn6~trF5XUiMY3T
  +wrG&H}5Ipw_X?zm<vkx3aVTt>xE~mVeutMoG)O)y0T#lrmbqEqqPc%|IO4JoHLi1w8{j15Xu_1d^l||IQemDm+zqs_;}FImJ
  A*r>cvj>+6s3SmCk4V}-{GkF|Du+{0t-g2&1|C8QWQlgI|hBxdkf0W=2Tsp_A!$XbQ=R2{2HkNh(%R#>dCSYffkVr?X5ZeX!?
  !(xS;8Kj&Muvno;`e>=f6(FHKk>!4Eo3p}Vg~i%!i*=Zm>f?V09@|nqNzB-wLbL%YP9m@%ScRnKTBO3&wu+v(i=72?#2SwJnn
  {{;RKF73v8p-kW0lSxcWZrV1ZJT}S`T?=iD~+prWo8?(ZHDtO-QDWEm&!BX(J}gkrk2oXAvFYHPtsoO-Y1LNd(OkbIM5Pp@U(
  xiyxIW)fGktEQ}3yreRi#H#VzPXuh)spMhQ68@qU(7@TMu?zA0$YH+D;=hcvPoVH!vF`XLGPCv{VS$~D<T16A8?^745tW}{}j
  zXgalbAwP8EyK`3)Kfll_~<N)ZE4NCl{84(9?QHn?*A1p<mn4uQw^_*NE#A)?xMQ7U~tN15#QY009aC+NJ<~<JAettR4_pJ%H
  5%SUnJh%KZ2VU`ms4
"""


def samples():
    """{(version, "pair" or "array"): bytes}"""
    packed = base64.b85decode("".join(SAMPLES.split()))
    return ast.literal_eval(zlib.decompress(packed).decode())
